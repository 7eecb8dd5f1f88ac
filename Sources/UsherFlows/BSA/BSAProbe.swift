import UsherCore

extension ProviderProbe {
  /// A device that nobody has: whether the client key is taken.
  static var bsa: ProviderProbe {
    // The nil UUID (RFC 9562 §5.9).
    let call = BSACall.deviceCheck(device: "00000000-0000-0000-0000-000000000000")
    return ProviderProbe("device_check", call) { outcome in
      switch BSAReply(outcome) {
      case .refused(.clientKeyUnknown): (false, "it does not know the client key")
      case .refused(let code) where code.isRetryable: (false, "it answers \(code.meaning)")
      case .said, .refused: (true, "it takes the client key")
      case .trouble(let trouble): (false, trouble.message)
      case .unreadable(let message): (false, message)
      }
    }
  }
}
