import UsherConfig
import UsherCore
import UsherFlows

/// The condition `require_local_auth_seconds` of a policy rule: the user must have proved presence
/// at this machine, at most that many seconds ago.
extension LocalAuthService {
  /// Checks that the caller's user has recently proved presence.
  ///
  /// - Throws: `interactionRequired` with the flow to start, unless the caller's user was
  ///   authenticated within that time, by passcode or fingerprint, in a flow of the same client.
  func check(within seconds: Int, of caller: Caller) throws(UsherError) {
    let proofs = proofs(of: caller.person, to: caller.client)
    let now = dependencies.clock.now()
    if proofs.contains(where: { $0.isFresh(for: .seconds(seconds), at: now) }) { return }
    let time = Duration.seconds(seconds).inWords
    throw UsherError(
      .interactionRequired,
      "the person at this machine must have proved presence within the last \(time)",
      detail: .init(
        next: .init(
          provider: ProviderConfig.local.name, kind: LocalAuthenticate.kind,
          arguments: [
            "localAuthType": .text(LocalAuthType.biometric.rawValue),
            "usePasscodeWhenFailed": .flag(true),
            "reason": .text("\(caller.client) asks for access"),
          ])))
  }
}
