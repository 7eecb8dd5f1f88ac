import FoundationEssentials
import UsherClient

// Flows are looked up at the daemon and not remembered by the process: another process may have
// started them, and they survive restarts of the daemon.

extension UsherClient {
  /// Returns the caller's flows of a kind at a provider, newest first, without their steps.
  ///
  /// - Parameter status: The status to select. Nil also selects flows that ended within the last
  ///   day.
  func flows(
    of provider: ProviderName, kind: String, key: String? = nil, status: FlowStatus? = .active
  ) async throws -> [Flow] {
    try await call(FlowList(provider: provider, kind: kind, key: key, status: status)).flows
  }

  /// Returns the newest of the caller's flows of a kind that matches; nil if there is none.
  func newestFlow(
    of provider: ProviderName, kind: String, key: String? = nil, status: FlowStatus? = .active,
    where fits: (Flow) -> Bool = { _ in true }
  ) async throws -> FlowSession? {
    for flow in try await flows(of: provider, kind: kind, key: key, status: status) {
      let session = try await session(of: flow.id)
      if fits(session.flow) { return session }
    }
    return nil
  }

  /// Submits the URL of a redirect to the caller's active flows of a kind until one accepts it.
  ///
  /// - Returns: The flow that accepted the URL; nil if none did. A flow refuses the redirect of
  ///   another one.
  func submitRedirect(
    _ url: URL, to provider: ProviderName, kind: String
  ) async throws -> FlowSession? {
    let redirect = FlowInput.redirect(url: Secret(url.absoluteString))
    for flow in try await flows(of: provider, kind: kind) {
      let session = try await session(of: flow.id)
      let seen = session.flow
      guard case .openURL(let page)? = seen.step, page.completes != .poll else { continue }
      do {
        try await session.submitOnce(redirect, answering: seen)
        return session
      } catch let error as UsherError
        where [.invalidInput, .conflict, .flowFinished, .unexpectedInput].contains(error.reason)
      {
        continue
      }
    }
    return nil
  }
}
