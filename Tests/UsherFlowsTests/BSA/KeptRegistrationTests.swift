import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

/// BSA reports a successful registration, but its reply has no usable TOTP secret.
@Suite("BSA registrations without a usable TOTP secret")
struct KeptRegistrationTests {
  private static let answers: [JSONValue?] = [
    nil, "text", [:], ["secretKey": nil], ["secretKey": 7], ["secretKey": ""],
    // 72 bits.
    ["secretKey": "GEZDGNBVGY3TQOI"], ["secretKey": "no Base32, is it?"],
    ["secretKey": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJ1"],
    ["secretkey": .string(BSAParts.secretKey)],
  ]

  @Test(
    "BSA register accepts a TOTP secret of 80 bits or more",
    arguments: [
      "GEZDGNBVGY3TQOJQ", "gezd gnbv gy3t qojq", "GEZDGNBVGY3TQOJQGEZDGNBV",
      "GEZDGNBVGY3TQOJQGEZDGNBVGY======",
    ])
  func shortSecret(text: String) throws {
    var driven = try DrivenRegister.signingUp()
    driven.said(["secretKey": .string(text)])
    #expect(driven.completion?.grant?.totpSecret == Sealed(Secret(text)))
    #expect(TOTPKey(base32: Secret(text)) != nil)
  }

  @Test("BSA register without a usable secret keeps the account and reports a totpProblem")
  func register() throws {
    for data in Self.answers {
      var driven = try DrivenRegister.signingUp()
      driven.said(data)
      #expect(driven.failure == nil, "\(String(describing: data))")
      let completion = try #require(driven.completion, "\(String(describing: data))")
      #expect(completion.grant?.subject == "ada.1815" && completion.grant?.totpSecret == nil)
      #expect(completion.grant?.attributes["localAuthType"] == "PASSCODE")
      let problem = completion.result["totpProblem"]?.stringValue ?? ""
      #expect(problem.contains("data.secretKey") && problem.contains("reregisterDevice"))
      #expect(!problem.contains("GEZDG"))
    }
  }

  @Test("BSA reregisterDevice without a usable secret succeeds and drops the old secret")
  func reregister() throws {
    var driven = try DrivenReregister.replacing()
    driven.said(["secretKey": "GEZD"])
    #expect(driven.failure == nil)
    #expect(driven.completion?.grant?.attributes["localAuthType"] == "PASSCODE")
    #expect(driven.completion?.result["totpProblem"] != nil)
    #expect(driven.completion?.grant?.dropsTOTPSecret == true, "the account drops the old secret")
  }
}
