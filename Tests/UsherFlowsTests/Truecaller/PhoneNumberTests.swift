import JSONRPC
import Testing

@testable import UsherFlows

@Suite("Phone numbers for Truecaller")
struct PhoneNumberTests {
  @Test(
    "the usual spellings of a phone number yield the same Truecaller PhoneNumber",
    arguments: [
      "9876543210", "98765 43210", "98765-43210", "(98765) 43210", "98765.43210", "+919876543210",
      "+91 98765 43210", "+91-98765-43210", "0091 9876543210", " 9876543210 ",
    ])
  func normalised(text: String) throws {
    let number = try phone(text)
    #expect(number.national == "9876543210")
    #expect(number.callingCode == "91")
    #expect(number.e164 == "+919876543210")
  }

  @Test(
    "a text that cannot be a phone number of India is refused for Truecaller",
    arguments: [
      "", " ", "987654321", "98765432101", "09876543210",
      "919876543210", "987654321O", "abcdefghij", "98765４3210", "९८७६५४३२१०", "٩٨٧٦٥٤٣٢١٠",
      "+929876543210", "00929876543210", "+9876543210", "++919876543210", "+", "+91", "0091",
      "98765\u{00A0}43210", "98765\n43210", "98765,43210", "9876543210;ext=1", "9876543210x",
      "9876543210\n", String(repeating: "9", count: 70),
      String(repeating: " ", count: 60) + "9876543210",
    ])
  func impossible(text: String) {
    #expect(throws: InvalidValue.self) { try phone(text) }
  }

  @Test(
    "a Truecaller number of India has 10 digits and may begin with any digit",
    arguments: (0...9).map { "\($0)876543210" } + ["0091987654", "0092987654"])
  func anyFirstDigit(text: String) throws {
    #expect(try phone(text).e164 == "+91\(text)")
    #expect(try DrivenVerification(text).calls.first?.name == "create")
  }

  @Test(
    "a country for Truecaller is the two-letter code of a known country, in any letter case",
    arguments: [
      ("IN", true), ("in", true), ("In", true), ("", false), ("I", false), ("IND", false),
      ("ZZ", false), ("ın", false), ("ＩＮ", false), ("IN ", false), ("91", false), ("AQ", false),
    ])
  func countries(code: String, isOne: Bool) throws {
    guard isOne else {
      #expect(throws: InvalidValue.self) { try phone("9876543210", code) }
      return
    }
    #expect(try phone("9876543210", code).country == "IN")
  }

  @Test(
    "a Truecaller phone number of another country than India yields its E.164 form",
    arguments: [
      ("7911123456", "GB", "+447911123456"), ("+44 7911 123456", "UK", "+447911123456"),
      ("2025550123", "US", "+12025550123"), ("+1 (202) 555-0123", "CA", "+12025550123"),
      ("0612345678", "IT", "+390612345678"), ("0701234567", "CI", "+2250701234567"),
      ("15112345678", "DE", "+4915112345678"), ("701234567", "SE", "+46701234567"),
      ("7012345678", "KZ", "+77012345678"), ("9012345678", "KZ", "+79012345678"),
      ("07911123456", "GB", "+4407911123456"), ("1025550123", "US", "+11025550123"),
      ("123", "DE", "+49123"), ("00491", "DE", "+491"), ("1", "US", "+11"),
      ("1234567890123", "DE", "+491234567890123"),
    ])
  func others(text: String, country: String, e164: String) throws {
    #expect(try phone(text, country).e164 == e164)
  }

  @Test(
    "a text that is not a phone number of its country by E.164 is refused for Truecaller",
    arguments: [
      ("", "DE"), ("+49", "DE"), ("12345678901234", "DE"), ("123456789012345", "US"),
      ("+442025550123", "US"), ("00442025550123", "US"), ("2025550x23", "US"), ("２０２", "US"),
    ])
  func otherImpossible(text: String, country: String) {
    #expect(throws: InvalidValue.self) { try phone(text, country) }
  }

  @Test("Truecaller's refusal of a phone number says why and does not repeat the number")
  func sentences() {
    let told = [("987654321", "IN"), ("98765432x1", "IN"), ("12345678901234", "DE"), ("1", "ZZ")]
      .map { text, country in
        do throws(InvalidValue) {
          _ = try PhoneNumber(text, country: country)
          return ""
        } catch {
          return error.message
        }
      }
    #expect(
      told == [
        "a phone number of IN has 10 digits, this one has 9",
        "the phone number must have digits 0 to 9 only",
        "a phone number of DE has 1 to 13 digits, this one has 14",
        "no country has this code, or the country has no phone numbers",
      ])
  }

  @Test("a masked Truecaller phone number shows its calling code and its last digits")
  func masked() throws {
    #expect(try phone().masked == "+91 ••• 210")
    #expect(try phone("12345", "FK").masked == "+500 ••• 45")
  }

  @Test(
    "a number in a Truecaller reply matches in any spelling, and another number does not",
    arguments: [
      (.integer(919_876_543_210), nil, true), (.integer(9_876_543_210), "IN", true),
      (.string("919876543210"), nil, true), (.string("+919876543210"), nil, true),
      (.string("0091 98765 43210"), nil, true), (.string("9876543210"), "in", true),
      (.number(919_876_543_210), nil, true), (.string("9876543210"), nil, true),
      (.integer(919_876_543_211), nil, false), (.integer(9_876_543_211), "IN", false),
      (.string("9876543210"), "PK", false), (.string("929876543210"), nil, false),
      (.string(""), nil, false), (.string("+9876543210"), nil, false), (.null, nil, false),
      (.bool(true), nil, false), (.number(9_876_543_210.5), nil, false), (.array([]), nil, false),
      (.string("91919876543210"), nil, false), (.number(1e300), nil, false),
    ] as [(JSONValue, String?, Bool)])
  func meant(value: JSONValue, country: String?, isMeant: Bool) throws {
    #expect(try phone().isMatch(for: value, country: country) == isMeant)
  }

  @Test("a Truecaller number that loses its leading 0 as a JSON number still matches")
  func zero() throws {
    let number = try phone("0701234567", "CI")
    #expect(number.isMatch(for: 701_234_567, country: "CI"))
    #expect(number.isMatch(for: 2_250_701_234_567))
    #expect(!number.isMatch(for: "701234567", country: "CI"))
    #expect(try phone("7911123456", "UK").isMatch(for: 7_911_123_456, country: "GB"))
  }

  @Test("each country's calling code for Truecaller has one to three digits, and E.164's lengths")
  func plans() throws {
    #expect(PhoneNumberingPlan.callingCodes.count == 246)
    for country in PhoneNumberingPlan.callingCodes.keys.sorted() {
      #expect(country.utf8.count == 2 && country == country.uppercased(), "\(country)")
      let plan = try #require(PhoneNumberingPlan(country), "\(country)")
      #expect((1...3).contains(plan.callingCode.count), "\(country)")
      let longest = country == "IN" ? 10 : 15 - plan.callingCode.count
      #expect(plan.lengths == (country == "IN" ? 10 : 1)...longest, "\(country)")
      let text = String(repeating: "2", count: longest)
      #expect(try PhoneNumber(text, country: country).national == text, "\(country)")
    }
  }
}
