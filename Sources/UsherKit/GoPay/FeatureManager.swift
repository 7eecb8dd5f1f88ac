public import FoundationEssentials
import UsherAPI
import UsherClient
import UsherCore

/// What GoPay's SDK can do (seed "Verify with GoPay"): ``GoPaySDK/getFeatureManager()``.
///
/// The SDK's `login` is declared by the vendor and not implemented: `verify` runs the log-in itself
/// where no linking token is given (provider contract §3.2).
public struct FeatureManager: Sendable {
  let sdk: GoPaySDK

  /// Verifies a person, and calls back.
  ///
  /// What is wrong with the request is told by the callback, with GPE-2206. Exactly one of the
  /// callback's methods is called, once.
  ///
  /// It is called on the main thread, as the SDK's is: the compiler sees to it. It returns at once;
  /// neither the callback nor the exchange handler needs the main thread.
  ///
  /// - Parameters:
  ///   - presenter: Shows the pages: where a log-in is needed that one, then the capture. It is kept
  ///     until the end, and called by a task of the SDK's own.
  ///   - request: With a `requestId` made for this call.
  ///   - credentialReceiver: How an auth code is exchanged, or that there is none.
  ///   - callback: It is held weakly: the program keeps what it wraps.
  /// - Returns: A way to give up.
  /// - Throws: Only when the callback is gone already, so that nobody would ever hear: GPE-2206.
  @MainActor @discardableResult
  public func verify(
    presenter: any Presenter, request: FeatureRequest, credentialReceiver: CredentialReceiver,
    callback: AnyFeatureCallback<VerifyResult>
  ) throws(FeatureError) -> VerifyTask {
    guard callback.isThere else { throw .nobodyHears }
    let tell = { @Sendable (outcome: Result<VerifyResult, FeatureError>) in
      callback.tell(outcome, data: \.metadata)
    }
    let task = callBack(tell) { () async throws(FeatureError) in
      try await verify(
        presenter: presenter, request: request, credentialReceiver: credentialReceiver)
    }
    return VerifyTask(task: task)
  }

  /// Verifies a person, and waits for the submission.
  ///
  /// The parameters are those of ``verify(presenter:request:credentialReceiver:callback:)``. It may be called on any actor. When its task is cancelled, so is the verification: GPE-2207,
  /// unless it had ended by then.
  ///
  /// A restart of the daemon, or a lost connection, is no harm: the daemon is waited for, 10 s at
  /// most; after that, GPE-2203.
  ///
  /// - Throws: What the SDK tells by `onError`.
  public func verify(
    presenter: any Presenter, request: FeatureRequest, credentialReceiver: CredentialReceiver
  ) async throws(FeatureError) -> VerifyResult {
    try await translating(to: FeatureError.self) {
      try Task.checkCancellation()
      try sdk.take(request.requestId)
      defer { sdk.giveBack(request.requestId) }
      // Cancelling does not end this call: whether there is a flow would not be known.
      let beginning = Task { try await begin(request, credentialReceiver) }
      let verification = Verification(
        session: try await beginning.value, presenter: presenter, receiver: credentialReceiver,
        pace: sdk.pace)
      return try await verification.outcome()
    }
  }

  /// Takes the URL at which the browser came back from the log-in, for a program that has set
  /// ``FeatureRequest/redirectURI``; its outcome is that of `verify`.
  ///
  /// Our own: on a phone the SDK got the redirect itself.
  ///
  /// - Throws: GPE-2205 when no verification waits for this URL: the daemon compares the state, and
  ///   nothing has changed.
  public func handleRedirect(url: URL) async throws(FeatureError) {
    try await translating(to: FeatureError.self) {
      let redirect = FlowInput.redirect(url: Secret(url.absoluteString))
      for flow in try await sdk.client.flows(of: sdk.provider, kind: GoPaySDK.kind) {
        let session = try await sdk.client.session(of: flow.id)
        if try await session.takes(redirect) { return }
      }
      throw KitError(.nothingWaiting, "no verification waits for this URL")
    }
  }
}

/// A verification that is under way.
public struct VerifyTask: Sendable {
  let task: Task<Void, Never>

  /// Gives it up: the callback gets GPE-2207, unless the verification had ended by then.
  ///
  /// Cancelling twice, or what has ended, changes nothing.
  public func cancel() { task.cancel() }
}

extension FeatureManager {
  private func begin(
    _ request: FeatureRequest, _ receiver: CredentialReceiver
  ) async throws -> FlowSession {
    let began = sdk.clock.now()
    do {
      return try await sdk.client.flow(
        provider: sdk.provider.rawValue, kind: GoPaySDK.kind,
        params: request.params(receiver, sdk.language), requestId: request.requestId)
    } catch let error as UsherError where error.reason == .requestIDReused {
      // The start is made again after a lost connection: then it is this call's own flow.
      guard let flow = error.detail.flow,
        let session = try? await sdk.client.session(of: flow),
        session.flow.status == .active, session.flow.createdAt >= began
      else { throw KitError.usedBefore }
      return session
    }
  }
}

extension FlowSession {
  /// Whether its step took the URL. Which flow it answers is the daemon's to say: each refuses what
  /// is not its own.
  fileprivate func takes(_ redirect: FlowInput) async throws -> Bool {
    guard case .openURL(let page)? = flow.step, page.completes != .poll else { return false }
    do {
      _ = try await answer(redirect, to: flow) { _ in true }
      return true
    } catch let error as UsherError
      where [.invalidInput, .conflict, .flowFinished, .unexpectedInput].contains(error.reason)
    {
      return false
    }
  }
}
