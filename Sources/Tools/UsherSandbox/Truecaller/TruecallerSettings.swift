/// The settings of the Truecaller fake that a test may change while it runs.
///
/// <doc:Truecaller> describes each setting.
package struct TruecallerBackendSettings: BackendSettings, Hashable {
  /// The `verificationToken` and `tokenTtl` of a verify response, which replace the created ones.
  package enum Carried: String, Sendable, Codable {
    case nothing
    case same
    case new
    case null
  }

  /// How empty members of a profile are written.
  package enum EmptyMembers: String, Sendable, Codable {
    case missing
    case null
  }

  package enum Signature: String, Sendable, Codable {
    case absent
    case right
    case wrong
    case overDecoded
  }

  package var tokenTtl = 60
  package var otpDigits = 6
  package var wrongCodeCap = 3
  package var numberDailyCap = 10
  package var installationDailyCap = 20
  package var accessTokenSeconds = 30 * 86_400
  package var rememberVerified = true
  package var uncallable: [String] = []
  package var unservedCountries: [String] = []
  package var refuseNames = false
  package var verifyCarries = Carried.nothing
  var validateNumber = TruecallerNumber.Form.number
  var profileNumber = TruecallerNumber.Form.string
  package var validateOtherNumber = false
  package var profileOtherNumber = false
  package var legacyNumber = false
  package var emptyMembers = EmptyMembers.missing
  package var profileSignature = Signature.absent
  package var otherKeysFirst = false
  package var createReply: [String: JSON] = [:]
  package var verifiedBeforeReply: [String: JSON] = [:]
  package var verifyReply: [String: JSON] = [:]
  package var updateReply: [String: JSON] = [:]
  package var profileReply: [String: JSON] = [:]
  package var validateReply: [String: JSON] = [:]
  package var signedMembers: [String: JSON] = [:]

  package init() {}

  /// The allowed range of a limit.
  private static let counts = 0...1000

  package func validationError(for changes: [String: JSON]) -> String? {
    if ![tokenTtl, accessTokenSeconds].allSatisfy(Self.seconds.contains) {
      "seconds must be 0 to \(Self.seconds.upperBound)"
    } else if ![wrongCodeCap, numberDailyCap, installationDailyCap].allSatisfy(Self.counts.contains)
    {
      "caps must be 0 to \(Self.counts.upperBound)"
    } else if !(4...10).contains(otpDigits) {
      "otpDigits must be 4 to 10"
    } else if let text = uncallable.first(where: { !$0.isE164 }) {
      "uncallable must contain numbers like +919876543210, not \(text.printable)"
    } else if let text = unservedCountries.first(where: { !$0.isCountryCode }) {
      "unservedCountries must contain countries like IN, not \(text.printable)"
    } else {
      nil
    }
  }
}
