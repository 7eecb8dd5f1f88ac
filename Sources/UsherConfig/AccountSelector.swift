import UsherCore

/// An entry of the list `accounts` of a client rule. Selects accounts by their id (`acc_…`) or by
/// their subject (`subject:…`) at any provider.
package enum AccountSelector: CodedAsText, Hashable, Sendable {
  private static let subjectPrefix = "subject:"

  case id(String)
  /// The provider's identifier of the person: up to 1024 bytes with the prefix `subject:`.
  case subject(String)

  package init(setting text: String) throws(SettingError) {
    let subject = String(text.dropFirst(Self.subjectPrefix.count))
    if text.hasPrefix("acc_"), text.consists(upTo: 64, of: \.isWordByte) {
      self = .id(text)
    } else if text.hasPrefix(Self.subjectPrefix), !subject.isEmpty, text.utf8.count <= 1024 {
      self = .subject(subject)
    } else {
      throw SettingError("must be an account's id, \"acc_…\", or \"subject:\" and its subject")
    }
  }

  package var settingText: String {
    switch self {
    case .id(let id): id
    case .subject(let subject): Self.subjectPrefix + subject
    }
  }

  package func selects(_ account: PolicyRequest.Account) -> Bool {
    switch self {
    case .id(let id): id == account.id
    case .subject(let subject): subject.hasSameBytes(as: account.subject)
    }
  }
}
