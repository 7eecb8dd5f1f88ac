import UsherCore

extension ProviderProbe {
  /// The probe that `usherctl provider check` sends to BSA: it asks about a device that does not
  /// exist, to see whether BSA accepts the client key.
  static var bsa: ProviderProbe {
    // The nil UUID (RFC 9562 §5.9), which no device has.
    let call = BSACall.deviceCheck(device: "00000000-0000-0000-0000-000000000000")
    return ProviderProbe(subject: "device_check", call: call) { outcome in
      switch BSAReply(outcome, to: call) {
      case .success: (true, "it accepts the client key")
      // These codes reject only the device, so the client key was accepted.
      case .refused(let refusal) where Self.answers.contains(refusal.code):
        (true, "it accepts the client key")
      case .refused(let refusal):
        (false, "it answers \(refusal.code.number): \(refusal.code.meaning)")
      case .failed(let failure): (false, failure.message)
      case .unreadable(let message), .noToken(let message): (false, message)
      }
    }
  }

  private static let answers: Set<RTCode> = [
    .parameterMissing, .notAMember, .notRegistered, .invalid, .deviceWrong,
  ]
}
