import JSONRPC
import Testing
import UsherAPI
import UsherCore
import UsherTestKit

@Suite("Methods of registrations on the wire")
struct RegistrationMethodTests {
  private let bsa = ProviderName("bsa")

  @Test("registration.checkDuplicate")
  func checkDuplicate() {
    checkWire(
      RegistrationCheckDuplicate(provider: bsa, verifyType: .email, verifyData: "ada@example.com"),
      #"{"provider":"bsa","verifyType":"email","verifyData":"ada@example.com"}"#)
    checkWire(
      RegistrationCheckDuplicate(
        provider: bsa, verifyType: .phoneNumber, verifyData: "+44 7700 900123"),
      #"{"provider":"bsa","verifyType":"phoneNumber","verifyData":"+44 7700 900123"}"#)
    checkWire(RegistrationCheckDuplicate.Reply(duplicate: true), #"{"duplicate":true}"#)
    checkWire(RegistrationCheckDuplicate.VerifyType.allCases, #"["email","phoneNumber"]"#)
  }

  @Test("registration.checkUserKey")
  func checkUserKey() {
    checkWire(
      RegistrationCheckUserKey(provider: bsa, userKey: "ada.1815"),
      #"{"provider":"bsa","userKey":"ada.1815"}"#)
    checkWire(RegistrationCheckUserKey.Reply(available: false), #"{"available":false}"#)
  }

  @Test(
    "what is missing, too much or of another kind is refused with its field",
    arguments: [
      (#"{"verifyType":"email","verifyData":"a@b"}"#, "provider"),
      (#"{"provider":"bsa","verifyData":"a@b"}"#, "verifyType"),
      (#"{"provider":"bsa","verifyType":"email"}"#, "verifyData"),
      (#"{"provider":"bsa","verifyType":"Email","verifyData":"a@b"}"#, "verifyType"),
      (#"{"provider":"bsa","verifyType":"phone","verifyData":"07700900123"}"#, "verifyType"),
      (#"{"provider":"bsa","verifyType":"email","verifyData":7700900123}"#, "verifyData"),
      (#"{"provider":"bsa","verifyType":"email","verifyData":"a@b","lang":"en"}"#, "lang"),
    ])
  func strict(params: String, field: String) throws {
    let value = try json(params)
    let error = refusal { () throws(UsherError) in
      try StrictDecoding.decode(
        RegistrationCheckDuplicate.self, from: value,
        schema: StrictDecoding.schema(of: RegistrationCheckDuplicate.self))
    }
    #expect(error?.reason == .invalidParams)
    #expect(error?.detail.field == field)
    #expect(error?.message.contains("7700") == false)
  }
}
