import UsherCore

/// A result code of BSA (contract §5.5). What is known of each stands in `rtcodes.tsv`, which the page
/// BSA of the documentation shows.
package struct RTCode: Codable, Sendable, Hashable {
  package let number: Int64

  package init(_ number: Int64) { self.number = number }

  static let done = RTCode(0)
  static let clientKeyUnknown = RTCode(2000)
  static let parameterMissing = RTCode(2002)
  static let notAMember = RTCode(2007)
  static let notRegistered = RTCode(2008)
  static let alreadyJoined = RTCode(2009)
  static let authInProgress = RTCode(2010)
  static let duplicateContact = RTCode(2019)
  static let authType = RTCode(3000)
  static let agreementMissing = RTCode(3002)
  static let numberWrong = RTCode(3005)
  static let invalid = RTCode(3006)
  static let deviceWrong = RTCode(3007)
  static let certificateTimeout = RTCode(5000)
  static let authTimeout = RTCode(5001)
  static let authCancelled = RTCode(5011)
  static let requestCancelled = RTCode(5018)
  static let nothingInProgress = RTCode(5019)
  static let qrInvalid = RTCode(5023)
  static let qrOtherApp = RTCode(5024)

  /// What the vendor publishes of a code, with a meaning in our words.
  package struct Entry: Sendable, Equatable {
    package let code: RTCode
    package let name: String
    /// For people: lower case, no period.
    package let meaning: String
    /// Whether the same call may succeed later.
    package let isRetryable: Bool
  }

  /// All that are known, by their numbers.
  package static let table: [Entry] = entries(
    of: String(decoding: PackageResources.rtcodes_tsv, as: UTF8.self))

  private static let known = Dictionary(uniqueKeysWithValues: table.map { ($0.code, $0) })

  /// Nil for one that is not in the table.
  package var entry: Entry? { Self.known[self] }

  /// For people.
  var meaning: String { entry?.meaning ?? "the provider refuses for a reason that has no name" }

  var isRetryable: Bool { entry?.isRetryable ?? false }

  func word(_ provider: ProviderName) -> ProviderErrorCode {
    ProviderErrorCode(name: provider, code: String(number), title: entry?.name)
  }

  private static func entries(of text: String) -> [Entry] {
    text.split(separator: "\n").dropFirst().map { line in
      let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
      guard fields.count == 4, let number = Int64(fields[0]) else {
        fatalError("rtcodes.tsv has a line that is none: \(line)")
      }
      return Entry(
        code: RTCode(number), name: String(fields[1]), meaning: String(fields[2]),
        isRetryable: fields[3] == "yes")
    }
  }
}
