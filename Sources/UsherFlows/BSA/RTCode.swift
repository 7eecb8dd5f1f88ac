import UsherCore

/// A result code of BSA, the `rtCode` of each reply (provider contract §5.5). The known codes are
/// listed in `rtcodes.tsv`, which the page BSA of the documentation shows.
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

  /// The codes that say that a value is taken: two of them named above, `DUPLICATE_2015` to
  /// `DUPLICATE_2017`, and `ID_NOT_UNIQUE`.
  static let duplicates: Set<RTCode> = [
    alreadyJoined, duplicateContact, RTCode(2015), RTCode(2016), RTCode(2017), RTCode(3202),
  ]

  /// A row of the table of BSA's rtCodes: the vendor's name and the daemon's description.
  package struct Entry: Sendable, Equatable {
    package let code: RTCode
    package let name: String
    /// What the code means, as text for users: lower case, no period.
    package let meaning: String
    /// Whether the same call may succeed later.
    package let isRetryable: Bool
  }

  /// All known codes, ordered by number.
  package static let table: [Entry] = entries(
    of: String(decoding: PackageResources.rtcodes_tsv, as: UTF8.self))

  private static let known = Dictionary(uniqueKeysWithValues: table.map { ($0.code, $0) })

  /// The row of this rtCode in the table; nil if BSA's documentation does not list it.
  package var entry: Entry? { Self.known[self] }

  /// What the code means, as text for users; a general text for an unknown code.
  var meaning: String { entry?.meaning ?? "the provider refuses for a reason that has no name" }

  var isRetryable: Bool { entry?.isRetryable ?? false }

  func providerErrorCode(_ provider: ProviderName) -> ProviderErrorCode {
    ProviderErrorCode(name: provider, code: String(number), title: entry?.name)
  }

  private static func entries(of text: String) -> [Entry] {
    text.split(separator: "\n").dropFirst().map { line in
      let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
      guard fields.count == 4, let number = Int64(fields[0]) else {
        fatalError("rtcodes.tsv has a malformed line: \(line)")
      }
      return Entry(
        code: RTCode(number), name: String(fields[1]), meaning: String(fields[2]),
        isRetryable: fields[3] == "yes")
    }
  }
}
