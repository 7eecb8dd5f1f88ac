package import JSONRPC
package import UsherConfig
package import UsherCore

/// A call that a provider made to the daemon, as read from HTTP, before the flow or account that it
/// is for is known.
package struct ProviderCallback: Sendable, Equatable {
  /// The request id of the flow that the call is about; nil if the call names none.
  package var requestID: String?
  /// The credential that the sender of the call presents.
  package var authorization: Secret
  /// Whether `authorization` equals the credential that is configured for all calls of the
  /// provider, rather than one user's token.
  package var isAuthenticated = false
  package var members: [String: JSONValue]
}

/// Whether a call that a provider made to the daemon is for a particular flow or account.
package enum CallbackVerdict: Sendable, Equatable {
  /// The call is for another flow or account, or this one accepts no calls.
  case noMatch
  /// The call is for this flow or account, but lacks the right credential.
  case unauthorized
  /// The call contradicts the stored state: it is about another submission of the user.
  case conflict
  case match
}

/// The HTTP form of the calls that a provider makes to the daemon.
package protocol CallbackDialect: Sendable {
  var address: LoopbackAddress { get }
  var path: String { get }
  var method: HTTPRequest.Method { get }
  /// The name of the credential that the provider may present instead of a user's own token; nil if
  /// there is none.
  var credentialName: String? { get }

  /// Reads the call of the provider.
  ///
  /// - Throws: What is wrong with the call; ``answer(_:)`` turns that into a reply.
  func read(authorization: Secret?, body: [UInt8]) throws(CallbackRefusal) -> ProviderCallback

  /// Returns the ``AccountFollowUp/callKey`` of the accounts that the call may be about.
  func callKey(of callback: ProviderCallback) -> String

  func answer(_ outcome: CallbackOutcome) -> HTTPReply
}

/// Why a call that a provider made to the daemon cannot be read: a sentence without secrets of the
/// call.
package struct CallbackRefusal: Error, Equatable {
  package let message: String

  package init(_ message: String) { self.message = message }
}

/// The result of handling a provider's call; it determines the reply to the provider.
package enum CallbackOutcome: Sendable, Equatable {
  /// The call is accepted, was accepted before, or is no longer relevant.
  case accepted
  case unreadable(CallbackRefusal)
  /// The credential is missing or wrong. Also used if no flow or account matches, so that an
  /// unauthorized sender cannot tell the difference.
  case unauthorized
  /// No flow or account matches the call, and the sender's credential allows it to know that.
  case unknown
  case conflict
  case otherPath
  case otherMethod
  case tooLarge
  /// The call could not be stored, or an account that it may be about could not be read, so the
  /// provider should send it again. A sender without a credential may get this outcome, too.
  case unavailable
}
