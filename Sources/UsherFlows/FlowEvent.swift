package import UsherAPI

/// An event that a flow receives, grouped by its source.
///
/// A machine that does not expect events of a source ignores the whole group, so a new event in a
/// group concerns only the machines that use it.
package enum FlowEvent<Call: ProviderCall>: Sendable, Equatable {
  /// The client's input for the flow's present step. The engine has checked that it has the step's
  /// type.
  case input(FlowInput)
  /// An event of the user's browser, or of the loopback listener to which the browser returns.
  case browser(BrowserEvent)
  /// An event of the provider: the outcome of an effect, or a call that the provider makes to the
  /// daemon.
  case provider(ProviderEvent<Call>)
  /// An event of the daemon itself: an answer to a question, or a restart.
  case daemon(DaemonEvent)
  /// The delay of ``Effect/wake(after:)`` has passed.
  case woken
}

/// An event of the loopback listener, to which the browser returns after the sign-in.
package enum BrowserEvent: Sendable, Equatable {
  /// The browser followed the provider's redirect to the listener. The engine has compared the
  /// `state`, so the redirect is for this flow.
  case redirected(AuthorizationResponse)
  /// The listener is open. The value is the redirect URI to send to the provider.
  case listening(redirectURI: String)
  /// No listener could be opened, for example because the port is in use.
  ///
  /// - Parameters:
  ///   - mayReachAnother: Whether another user holds the port, or may hold it, and could receive
  ///     the provider's reply.
  ///   - isBusy: Whether the daemon has run out of file descriptors.
  case listenFailed(String, mayReachAnother: Bool = false, isBusy: Bool = false)
}

/// An event of the provider: an outcome of an effect, or a call that the provider makes.
package enum ProviderEvent<Call: ProviderCall>: Sendable, Equatable {
  /// The outcome of a call that the machine requested by `Effect.call`.
  case called(Call, CallOutcome)
  /// The provider's metadata, which the machine requested by `Effect.discover`.
  case discovered(Discovery)
  /// The verdict on a signature, which the machine requested by `Effect.verifyIDToken` or
  /// `Effect.verifySignature`.
  case idTokenVerified(IDTokenVerdict)
  /// The request object which the machine requested by `Effect.sign`.
  case signed(SignedRequest)
  /// The provider made a call to the daemon, and ``FlowMachine/validate(_:token:)`` assigned it to
  /// this flow.
  case calledBack(ProviderCallback)
}

/// An event of the daemon itself.
package enum DaemonEvent: Sendable, Equatable {
  /// The daemon's answer to `Effect.ask` or `Effect.store`.
  case answered(DaemonAnswer)
  /// The daemon was restarted: operations in progress may or may not have happened. The machine
  /// repeats what is safe to repeat. Otherwise it moves to a step that asks the user, with problem
  /// `interrupted`.
  case resumed
}
