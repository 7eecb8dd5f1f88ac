public import FoundationEssentials
import UsherClient

/// The features of GoPay's SDK (SDK documentation, "Verify with GoPay").
/// ``GoPaySDK/getFeatureManager()`` returns it.
///
/// The SDK's `login` is declared by the vendor but not implemented: `verify` itself runs the log-in
/// if there is no linking token (provider contract §3.2).
public struct FeatureManager: Sendable {
  let sdk: GoPaySDK

  /// Verifies a person's identity, and passes the result to a callback.
  ///
  /// Exactly one of the callback's methods is called, once. A blank `requestId` or
  /// `userCorrelationId`, and a missing token without an exchange, are reported to the callback
  /// too, with GPE-2206, before anything else is checked: also if the daemon is not running.
  ///
  /// As in the SDK, this is called on the main actor. It returns at once and does not block.
  /// Closures of the callback and the exchange handler that are written in code of the main actor
  /// run there, and methods of a callback that are isolated to it.
  ///
  /// - Parameters:
  ///   - viewController: Shows the log-in page, if a log-in is needed, and then the capture page: a
  ///     ``Presenter`` in place of the SDK's view controller. It is retained until the end, and
  ///     called by a task of the SDK.
  ///   - request: The request, with a `requestId` made for this call.
  ///   - credentialReceiver: The handler that exchanges an auth code, or
  ///     ``CredentialReceiver/none``.
  ///   - callback: Receives the result. It is held weakly: keep a reference to the wrapped
  ///     callback.
  /// - Returns: A task that can be cancelled.
  /// - Throws: GPE-2205 if the wrapped callback is deallocated already; no other error.
  @MainActor @discardableResult
  public func verify(
    viewController: any Presenter, request: FeatureRequest,
    credentialReceiver: CredentialReceiver, callback: AnyFeatureCallback<VerifyResult>
  ) throws(FeatureError) -> VerifyTask {
    guard callback.isAlive else { throw .callbackGone }
    return VerifyTask(
      task: deliverOutcome(to: callback) { () async throws(FeatureError) in
        try await verify(
          viewController: viewController, request: request, credentialReceiver: credentialReceiver)
      })
  }

  /// Verifies a person's identity, and returns the submission.
  ///
  /// The parameters are those of
  /// ``verify(viewController:request:credentialReceiver:callback:)``. It may be called on any
  /// actor. Cancelling its task cancels the verification: GPE-2207, unless it has ended by then.
  ///
  /// The verification survives a restart of the daemon or a lost connection of up to 10 s; after
  /// that the call throws GPE-2203.
  ///
  /// - Throws: The errors that the SDK passes to `onError`.
  public func verify(
    viewController: any Presenter, request: FeatureRequest,
    credentialReceiver: CredentialReceiver
  ) async throws(FeatureError) -> VerifyResult {
    try await translating(to: FeatureError.self) {
      try Task.checkCancellation()
      if let field = request.blankField(for: credentialReceiver) {
        throw FeatureError.missing(field)
      }
      try sdk.reserve(request.requestId)
      defer { sdk.release(request.requestId) }
      // An unstructured task is not cancelled with this one. If the start of the flow were
      // interrupted, it would be unknown whether there is a flow.
      let beginning = Task { try await begin(request, credentialReceiver) }
      let verification = IdentityVerification(
        presenter: viewController, receiver: credentialReceiver, retryTiming: sdk.retryTiming)
      return try await verification.outcome(try await beginning.value)
    }
  }

  /// Submits the URL to which the browser was redirected after the log-in, for a program that has
  /// set ``FeatureRequest/redirectURI``. The outcome is reported by `verify`.
  ///
  /// This is not in the SDK, which received the redirect itself on a phone.
  ///
  /// - Throws: GPE-2205 if no verification waits for this URL. The daemon compares the `state`, and
  ///   nothing changes.
  public func handleRedirect(url: URL) async throws(FeatureError) {
    try await translating(to: FeatureError.self) {
      if try await sdk.provider.submitRedirect(url, to: GoPaySDK.kind) == nil {
        throw KitError(.nothingWaiting, "no verification is waiting for this URL")
      }
    }
  }
}

/// A verification in progress, which the app can cancel.
public struct VerifyTask: Sendable {
  let task: Task<Void, Never>

  /// Cancels the verification: the callback gets GPE-2207, unless the verification has ended by
  /// then.
  ///
  /// Cancelling again, or after the end, has no effect.
  public func cancel() { task.cancel() }
}

extension FeatureManager {
  /// Runs a verification in a task that is on no actor, and passes its outcome to a callback.
  private func deliverOutcome(
    to callback: AnyFeatureCallback<VerifyResult>,
    of verify: @escaping @Sendable () async throws(FeatureError) -> VerifyResult
  ) -> Task<Void, Never> {
    Task {
      let outcome: Result<VerifyResult, FeatureError>
      do throws(FeatureError) {
        outcome = .success(try await verify())
      } catch {
        outcome = .failure(error)
      }
      await callback.deliver(outcome, data: \.metadata)
    }
  }

  private func begin(
    _ request: FeatureRequest, _ receiver: CredentialReceiver
  ) async throws -> FlowSession {
    let began = sdk.clock.now()
    var mayHaveBegun = false
    do {
      return try await sdk.provider.start(
        GoPaySDK.kind, request.params(receiver, sdk.language), requestId: request.requestId
      ) { mayHaveBegun = true }
    } catch let error as UsherError where error.reason == .requestIDReused {
      // If the connection was lost, the client has sent the start again. A flow that was created
      // since the call began is then the one that the first attempt started.
      guard mayHaveBegun, let flow = error.detail.flow else { throw KitError.requestIDUsed }
      let session: FlowSession
      do {
        session = try await sdk.provider.client.session(of: flow)
      } catch let error as UsherError where error.reason == .notFound {
        throw KitError.requestIDUsed
      }
      guard session.flow.createdAt >= began else { throw KitError.requestIDUsed }
      return session
    }
  }
}
