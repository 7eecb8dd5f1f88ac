import UsherCore

extension ProviderProbe {
  /// A device that nobody has: whether the client key is taken.
  static var bsa: ProviderProbe {
    // The nil UUID (RFC 9562 §5.9).
    let call = BSACall.deviceCheck(device: "00000000-0000-0000-0000-000000000000")
    return ProviderProbe("device_check", call) { outcome in
      switch BSAReply(outcome) {
      case .said: (true, "it takes the client key")
      // Such a device is nobody's, or none.
      case .refused(let code) where Self.answers.contains(code): (true, "it takes the client key")
      case .refused(let code): (false, "it answers \(code.number): \(code.meaning)")
      case .failed(let failure): (false, failure.message)
      case .unreadable(let message): (false, message)
      }
    }
  }

  private static let answers: Set<RTCode> = [
    .parameterMissing, .notAMember, .notRegistered, .invalid, .deviceWrong,
  ]
}
