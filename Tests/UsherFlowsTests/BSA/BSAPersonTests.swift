import Testing
import UsherCore

@testable import UsherFlows

@Suite("Contacts, user keys and names of BSA")
struct BSAPersonTests {
  @Test(
    "an e-mail address of a BSA user has one @ with text on both sides and is kept unchanged",
    arguments: ["ada@example.com", "a@b", "Ada+1.x@Example.COM", "адa@пример.рф", "\"a\"@[::1]"])
  func addresses(text: String) throws {
    let contact = try BSAContact(.email, text)
    #expect(contact.target == text)
    #expect(contact.channel == .email)
    #expect(contact.verifyType == "CMMDUP001")
  }

  @Test(
    "a text that is no e-mail address is refused as a BSA contact",
    arguments: [
      "", "@", "ada", "ada@", "@example.com", "a@b@c", "ada @example.com", " ada@example.com",
      "ada@example.com\n", "ada@exam\tple.com", "ada@exam\u{a0}ple.com", "ada@\u{7}example.com",
      "ada\u{2028}@example.com",
    ])
  func noAddresses(text: String) {
    #expect(throws: InvalidValue("must be an e-mail address")) {
      try BSAContact(.email, text)
    }
  }

  @Test("the e-mail address of a BSA user has at most 254 bytes")
  func addressLength() throws {
    let domain = "@example.com"
    let longest = String(repeating: "a", count: 254 - domain.utf8.count) + domain
    #expect(try BSAContact(.email, longest).target.utf8.count == 254)
    #expect(throws: InvalidValue.self) { try BSAContact(.email, "a" + longest) }
    let inBytes = String(repeating: "é", count: 122) + domain
    #expect(inBytes.utf8.count == 256 && inBytes.count < 254)
    #expect(throws: InvalidValue.self) { try BSAContact(.email, inBytes) }
  }

  @Test(
    "blanks, hyphens and brackets are removed from BSA phone numbers; a leading plus is kept",
    arguments: [
      ("+44 7700 900123", "+447700900123"), ("(010) 1234-5678", "01012345678"),
      ("1234567", "1234567"), ("123456789012345", "123456789012345"),
      ("+123456789012345", "+123456789012345"), (" +1-2 (34) 567 ", "+1234567"),
    ])
  func numbers(text: String, target: String) throws {
    let contact = try BSAContact(.sms, text)
    #expect(contact.target == target)
    #expect(contact.verifyType == "CMMDUP002")
  }

  @Test(
    "a BSA phone number without 7 to 15 ASCII digits is refused",
    arguments: [
      "", "+", "123456", "+123456", "1234567890123456", "+1234567890123456", "44+7700900123",
      "++447700900123", "447700900123+", "4477009001x3", "447700.900123", "447700900123\n",
      "４４７７００９００１２３", "٤٤٧٧٠٠٩٠٠١٢٣", "447700\u{a0}900123", "ada@example.com",
    ])
  func noNumbers(text: String) {
    #expect(throws: InvalidValue("must be a phone number of 7 to 15 digits")) {
      try BSAContact(.sms, text)
    }
  }

  @Test(
    "a masked BSA contact shows an address's first letters or a number's last two digits",
    arguments: [
      (BSAContact.Channel.email, "ada@example.com", "a•••@e•••"), (.email, "a@b", "a•••@b•••"),
      (.sms, "+44 7700 900123", "+••••••••••23"), (.sms, "1234567", "•••••67"),
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
    "a BSA user key is 4 to 64 letters, digits and characters of ._-@",
    arguments: ["ada1", "ada.1815", "A_d-a@x.org", "....a", "0000", "@@@@", "____"])
  func userKeys(text: String) throws {
    #expect(try BSAUserKey.checked(text) == text)
  }

  @Test(
    "a BSA user key that is short, has other characters or has only dots is refused",
    arguments: [
      "", "ada", "ada 1815", "ada/1815", "ada%2F1815", "ada1815\n", "ädä1815", "ada:1815",
      "ada+1815", "ada1815?", "ada#1815", "....", ".....", "ada`", "ada[", "адаада",
    ])
  func noUserKeys(text: String) {
    #expect(throws: InvalidValue.self) {
      try BSAUserKey.checked(text)
    }
  }

  @Test("a BSA user key has at most 64 bytes")
  func userKeyLength() throws {
    let longest = String(repeating: "k", count: 64)
    #expect(try BSAUserKey.checked(longest) == longest)
    #expect(throws: InvalidValue.self) { try BSAUserKey.checked(longest + "k") }
  }

  @Test(
    "the name of a BSA user is visible text of up to 256 bytes",
    arguments: ["Ada", "O'Neil-Ödön 3.", "김 에이다"])
  func names(text: String) throws {
    #expect(try BSAName.checked(text) == text)
    let longest = String(repeating: "é", count: 128)
    #expect(try BSAName.checked(longest) == longest)
  }

  @Test(
    "a BSA user's name that is blank, has no letter or has invisible characters is refused",
    arguments: [
      "", " ", " \u{a0}\t", "Ada\n", "A\u{0}da", "A\u{7f}da", "A\u{9b}da", "\u{200b}", "-", " Ada",
      "\u{202e}adA",
    ])
  func noNames(text: String) {
    #expect(throws: InvalidValue.self) {
      try BSAName.checked(text)
    }
  }

  @Test("a BSA user's name of more than 256 bytes is refused")
  func nameLength() {
    #expect(throws: InvalidValue.self) {
      try BSAName.checked(String(repeating: "é", count: 128) + "a")
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
