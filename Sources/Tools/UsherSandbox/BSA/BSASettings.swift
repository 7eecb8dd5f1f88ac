/// The settings of the BSA fake that a test may change while it runs.
///
/// <doc:BSA> describes each setting.
struct BSABackendSettings: BackendSettings, Hashable {
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

  /// The allowed range for `otpDigits` and `attempts`.
  static let counts = 1...20
  /// The allowed range for a daily limit.
  static let perDay = 0...1_000_000
  /// The allowed values of `timeoutCode`.
  static let timeoutCodes = [5000, 5001]

  func validationError(for changes: [String: JSON]) -> String? {
    let spans = [
      otpSeconds, resendSeconds, disposeTokenSeconds, authSeconds, qrSeconds, loginNumberSeconds,
      tokenSeconds,
    ]
    return if !spans.allSatisfy(Self.seconds.contains) {
      "seconds must be 0 to \(Self.seconds.upperBound)"
    } else if ![otpDigits, attempts].allSatisfy(Self.counts.contains) {
      "otpDigits and attempts must be 1 to \(Self.counts.upperBound)"
    } else if ![otpPerDay, totpPerDay].allSatisfy(Self.perDay.contains) {
      "otpPerDay and totpPerDay must be 0 to \(Self.perDay.upperBound)"
    } else if !Self.timeoutCodes.contains(timeoutCode) {
      "timeoutCode must be 5000 or 5001"
    } else if !(200...599).contains(refusalStatus) {
      "refusalStatus must be 200 to 599"
    } else {
      nil
    }
  }
}
