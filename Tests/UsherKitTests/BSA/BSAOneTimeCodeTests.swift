import FoundationEssentials
import JSONRPC
import Testing
import UsherKit

extension BSAKitTests {
  @Suite("TOTP codes of BSA")
  struct OneTimeCodes {
    @Test("BSA.totpCode returns a code that is not printed, or fails with 2008, 10001 or 9009")
    func totp() async throws {
      let code = #"{"code":"042424","periodSeconds":60,"expiresAt":"2030-01-01T00:01:00Z"}"#
      let daemon = BSADaemon(replies: [
        "account.list": [BSADaemon.accounts(), BSADaemon.accounts(1)],
        "totp.code": [
          .reply(code), .refused(BSADaemon.error("rate_limited")),
          .refused(BSADaemon.localAuthFirst),
        ],
      ])
      try await daemon.run { _ in
        let none = BSAError.failed(rtCode: 2008, message: "no person is registered on this device")
        await #expect(throws: none) { try await BSA.totpCode() }
        let answer = try await BSA.totpCode()
        #expect(answer.code == "042424" && answer.period == .seconds(60))
        #expect(answer.expiresAt.timeIntervalSince1970 == 1_893_456_060)
        #expect(!"\(answer)".contains("042424"))
        await #expect(throws: BSAError.failed(rtCode: 10001, message: "why not")) {
          try await BSA.totpCode()
        }
        await #expect(throws: BSAError.failed(rtCode: 9009, message: "why not")) {
          try await BSA.totpCode()
        }
      }
      #expect(daemon.params(of: "totp.code").first == ["account": "acc_1"])
    }
  }
}
