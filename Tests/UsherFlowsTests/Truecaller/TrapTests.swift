import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

@Suite("Traps in Truecaller's documentation")
struct TruecallerTrapTests {
  @Test(
    "a verify reply of Truecaller without TTL and token, or with null, changes neither (trap 1)",
    arguments: [
      ["code": 4220, "message": "wrong"],
      ["code": 4220, "message": "wrong", "verificationToken": nil, "tokenTtl": nil],
    ] as [JSONValue])
  func wiped(body: JSONValue) throws {
    var driven = try DrivenVerification()
    driven.toVerify()
    driven.answered(body, status: 422, at: now + .seconds(10))
    #expect(driven.step?.expiresAt == now + .seconds(90))
    driven.receive(DrivenVerification.code(), at: now + .seconds(20))
    #expect(driven.calls == [.verify(try phone(), code: otp, token: verificationToken)])
  }

  @Test("a verify reply of Truecaller with a new TTL and a new token replaces both (trap 1)")
  func renewed() throws {
    var driven = try DrivenVerification()
    driven.toVerify()
    let later = now + .seconds(10)
    driven.answered(
      ["code": 4220, "verificationToken": "v-2", "tokenTtl": 30], status: 422, at: later)
    #expect(driven.step?.expiresAt == later + .seconds(30))
    driven.receive(DrivenVerification.code(), at: later)
    #expect(driven.calls == [.verify(try phone(), code: otp, token: Secret("v-2"))])
  }

  @Test("a verify reply of Truecaller that repeats the token keeps it and renews the TTL (trap 1)")
  func saidAgain() throws {
    var driven = try DrivenVerification()
    driven.toVerify()
    let later = now + .seconds(10)
    driven.answered(
      ["code": 4220, "verificationToken": .string(HTTPReply.echo), "tokenTtl": 30], status: 422,
      at: later)
    #expect(driven.step?.expiresAt == later + .seconds(30))
    driven.receive(DrivenVerification.code(), at: later)
    #expect(driven.calls == [.verify(try phone(), code: otp, token: verificationToken)])
  }

  @Test(
    "a European country, also GB or UK, selects Truecaller's EU host in any letter case (trap 2)",
    arguments: [
      ("DE", "15112345678", "eu"), ("de", "15112345678", "eu"), ("GB", "7911123456", "eu"),
      ("UK", "7911123456", "eu"), ("uk", "7911123456", "eu"), ("CH", "791234567", "eu"),
      ("AX", "181234567", "eu"), ("IN", "9876543210", "noneu"), ("in", "9876543210", "noneu"),
      ("US", "2025550123", "noneu"), ("TR", "5321234567", "noneu"), ("UA", "501234567", "noneu"),
    ])
  func host(country: String, number: String, region: String) throws {
    let call = TruecallerCall.profile(try phone(number, country), accessToken: otpToken)
    let request = try call.render(
      RenderContext(provider: Provider(truecaller())!, credential: appKey, transition: moment()))
    #expect(request.url == "https://outline-\(region).truecaller.com/v1/profile")
  }

  @Test("Truecaller's list of European countries has 44 codes with a numbering plan (trap 2)")
  func list() {
    let settings = Provider<TruecallerSettings>(truecaller())!.settings
    let europe = PhoneNumberingPlan.callingCodes.keys.filter {
      settings.profileBase(of: $0) == settings.profileBaseURLEU
    }
    #expect(europe.count == 44)
  }
}
