import JSONRPC
import Testing
import UsherCore

@testable import UsherFlows

@Suite("Keys of Truecaller verifications")
struct PhoneNumberKeyTests {
  @Test("the key of a Truecaller flow is calling code, salt and the HMAC of country and number")
  func known() throws {
    // printf 'IN +919876543210' | openssl dgst -sha256 -mac HMAC -macopt hexkey:0001…0f
    let salt = Array(UInt8(0)...15)
    #expect(
      try phone("+91 98765-43210", "in").flowKey(salt: salt)
        == "91.000102030405060708090a0b0c0d0e0f."
        + "d8bb762b6dc821c9a958cd86817060ee6ac54a182718fa8545838e1265df4ff6")
  }

  @Test("the key of a Truecaller flow stays the same in each state, and does not show the number")
  func states() throws {
    for stage in Phase.allCases {
      let driven = try stage.driven()
      let key = try #require(driven.flow.view.key, "\(stage)")
      #expect(key.hasPrefix("91.") && !key.contains("9876543210"))
      #expect(try DrivenVerification().flow.view.key == key, "the tests' salt is the same")
    }
    #expect(try DrivenVerification("1").flow.view.key == nil)
  }
}
