/// `acc_…` or `subject:…`: one account a rule is about.
package struct AccountSelector: CodedAsText, Hashable, Sendable {
  private static let subjectPrefix = "subject:"

  package let settingText: String

  package init(setting text: String) throws(Refusal) {
    let isID = text.hasPrefix("acc_") && text.consists(upTo: 64, of: \.isWordByte)
    let isSubject =
      text.hasPrefix(Self.subjectPrefix) && text.utf8.count > 8
      && text.utf8.count <= 1024
    guard isID || isSubject else {
      throw Refusal("must be an account's id, \"acc_…\", or \"subject:\" and its subject")
    }
    settingText = text
  }

  package func selects(_ account: PolicyRequest.Account) -> Bool {
    settingText == account.id
      || settingText.dropFirst(Self.subjectPrefix.count) == account.subject
        && settingText.hasPrefix(Self.subjectPrefix)
  }
}
