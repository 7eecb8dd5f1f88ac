import Testing
import UsherCore

@testable import UsherFlows

@Suite("Contacts, user keys and names of BSA")
struct BSAPersonTests {
  @Test(
    "any e-mail address that can be sent is kept unchanged, because BSA decides about it",
    arguments: [
      "ada@example.com", "a@b", "Ada+1.x@Example.COM", "адa@пример.рф", "\"a\"@[::1]", "ada",
      "@example.com", "a@b@c", " ada @example.com",
    ])
  func addresses(text: String) throws {
    let contact = try BSAContact(.email, text)
    #expect(contact.target == text)
    #expect(contact.channel == .email)
    #expect(contact.verifyType == "CMMDUP001")
  }

  @Test(
    "an e-mail address that is blank or has control characters is refused as a BSA contact",
    arguments: [
      "", " ", "\u{a0}", "ada@example.com\n", "ada@exam\tple.com", "ada@\u{7}example.com",
      "ada\u{2028}@example.com", "ada\u{202e}@example.com",
    ])
  func noAddresses(text: String) {
    #expect(throws: InvalidValue("must be an e-mail address")) {
      try BSAContact(.email, text)
    }
  }

  @Test("a BSA contact has at most 512 bytes")
  func contactLength() throws {
    let longest = String(repeating: "é", count: 256)
    #expect(try BSAContact(.email, longest).target == longest)
    #expect(throws: InvalidValue.self) { try BSAContact(.email, "a" + longest) }
    let number = String(repeating: "1", count: 512)
    #expect(try BSAContact(.sms, number).target == number)
    #expect(throws: InvalidValue.self) { try BSAContact(.sms, "1" + number) }
  }

  @Test(
    "blanks, hyphens and brackets are removed from BSA phone numbers; the rest is kept",
    arguments: [
      ("+44 7700 900123", "+447700900123"), ("(010) 1234-5678", "01012345678"),
      ("112", "112"), ("+1-2 (34) 567 ", "+1234567"), ("44+7700900123", "44+7700900123"),
      ("123456789012345678", "123456789012345678"), ("0800.FLOWERS", "0800.FLOWERS"),
    ])
  func numbers(text: String, target: String) throws {
    let contact = try BSAContact(.sms, text)
    #expect(contact.target == target)
    #expect(contact.verifyType == "CMMDUP002")
  }

  @Test(
    "a BSA phone number that is blank or has control characters is refused",
    arguments: ["", " - ( )", "447700900123\n", "\u{a0}", "4477\u{0}009"])
  func noNumbers(text: String) {
    #expect(throws: InvalidValue("must be a phone number")) {
      try BSAContact(.sms, text)
    }
  }

  @Test(
    "a masked BSA contact shows an address's first letters or a number's last two digits",
    arguments: [
      (BSAContact.Channel.email, "ada@example.com", "a•••@e•••"), (.email, "a@b", "a•••@b•••"),
      (.sms, "+44 7700 900123", "+••••••••••23"), (.sms, "1234567", "•••••67"),
      (.sms, "112", "•••"),
      (.email, "ada.lovelace", "••••••••••ce"), (.email, "a@b@c", "a•••@b•••@c•••"),
    ])
  func masks(channel: BSAContact.Channel, text: String, mask: String) throws {
    #expect(try BSAContact(channel, text).masked == mask)
  }

  @Test(
    "a BSA contact's flow key is the SHA-256 of its type and target, in any spelling",
    arguments: [
      (
        BSAContact.Channel.email, "ada@example.com",
        "9b62a3a2bce7c868f30d60f0818e84d225bceb56f6c2dccaa4ac388af5fd8f7f"
      ),
      (.sms, "+447700900123", "0ada9708c8d2498003f7b035f4fd576cef890c5f95e3525bd6a911792c85ac88"),
      (
        .sms, "+44 (7700) 900-123",
        "0ada9708c8d2498003f7b035f4fd576cef890c5f95e3525bd6a911792c85ac88"
      ),
    ])
  func keys(channel: BSAContact.Channel, text: String, key: String) throws {
    #expect(try BSAContact(channel, text).key == key)
  }

  @Test(
    "any BSA user key that can be sent is kept unchanged, because BSA decides about it",
    arguments: ["a", "ada.1815", "A_d-a@x.org", "...", "ada 1815/%2F?#[", "адаада", "김 에이다"])
  func userKeys(text: String) throws {
    #expect(try BSAUserKey.checked(text) == text)
  }

  @Test(
    "a BSA user key that is blank, a dot segment of a path or has control characters is refused",
    arguments: ["", " ", ".", "..", "ada1815\n", "a\u{0}da", "\u{202e}ada"])
  func noUserKeys(text: String) {
    #expect(throws: InvalidValue.self) {
      try BSAUserKey.checked(text)
    }
  }

  @Test("a BSA user key and a name have at most 512 bytes")
  func lengths() throws {
    let longest = String(repeating: "k", count: 512)
    #expect(try BSAUserKey.checked(longest) == longest)
    #expect(throws: InvalidValue.self) { try BSAUserKey.checked(longest + "k") }
    #expect(throws: InvalidValue.self) { try BSAText.checked(longest + "k") }
  }

  @Test(
    "the name of a BSA user is any text that can be sent",
    arguments: ["Ada", "O'Neil-Ödön 3.", "김 에이다", "-", " Ada"])
  func names(text: String) throws {
    #expect(try BSAText.checked(text) == text)
  }

  @Test(
    "a BSA user's name that is blank or has invisible characters is refused",
    arguments: [
      "", " ", " \u{a0}\t", "Ada\n", "A\u{0}da", "A\u{7f}da", "A\u{9b}da", "\u{200b}",
      "\u{202e}adA",
    ])
  func noNames(text: String) {
    #expect(throws: InvalidValue.self) {
      try BSAText.checked(text)
    }
  }

  @Test(
    "an authType has BSA's number, the SDK's word and a kind of local authentication",
    arguments: [
      (BSAAuthType.none, Int64(0), "NONE", LocalAuthType?.none),
      (.biometric, 3, "BIOMETRIC", .biometric), (.passcode, 4, "PASSCODE", .passcode),
    ])
  func authTypes(type: BSAAuthType, number: Int64, word: String, asks: LocalAuthType?) {
    #expect(type.number == number)
    #expect(type.sdkName == word)
    #expect(type.localAuthType == asks)
    #expect(BSAAuthType(number: number) == type)
    #expect(BSAAuthType(sdkName: word) == type)
  }

  @Test("an unknown number or word is no BSA authType")
  func noAuthTypes() {
    for number in [-1, 1, 2, 5, 33] { #expect(BSAAuthType(number: Int64(number)) == nil) }
    for word in ["", "none", "Biometric", "PIN"] { #expect(BSAAuthType(sdkName: word) == nil) }
  }
}
