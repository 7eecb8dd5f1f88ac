/// What a test may change about the BSA stand-in while it runs.
///
/// Each setting stands with its meaning in <doc:BSA>.
struct BSASettings: BackendSettings, Hashable {
  var otpSeconds = 180
  var otpDigits = 6
  var resendSeconds = 0
  var otpPerDay = 20
  var attempts = 5
  var disposeTokenSeconds = 1800
  var authSeconds = 30
  var qrSeconds = 180
  var loginNumberSeconds = 180
  var tokenSeconds = 3600
  var totpPerDay = 100
  var timeoutCode = 5000
  var channelOnce = false
  var siteUrl = ""
  var refusalStatus = 200

  /// How many digits a number may have, and how many wrong ones may spend it.
  static let counts = 1...20
  /// How much may be had a day.
  static let perDay = 0...1_000_000
  /// What a sign-in that took too long may be answered.
  static let timeoutCodes = [5000, 5001]

  func objection(to changes: [String: JSON]) -> String? {
    let spans = [
      otpSeconds, resendSeconds, disposeTokenSeconds, authSeconds, qrSeconds, loginNumberSeconds,
      tokenSeconds,
    ]
    return if !spans.allSatisfy(Self.seconds.contains) {
      "seconds are 0 to \(Self.seconds.upperBound)"
    } else if ![otpDigits, attempts].allSatisfy(Self.counts.contains) {
      "otpDigits and attempts are 1 to \(Self.counts.upperBound)"
    } else if ![otpPerDay, totpPerDay].allSatisfy(Self.perDay.contains) {
      "otpPerDay and totpPerDay are 0 to \(Self.perDay.upperBound)"
    } else if !Self.timeoutCodes.contains(timeoutCode) {
      "timeoutCode is 5000 or 5001"
    } else if !(200...599).contains(refusalStatus) {
      "refusalStatus is 200 to 599"
    } else {
      nil
    }
  }
}
