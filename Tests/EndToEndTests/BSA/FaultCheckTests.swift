import JSONRPC
import Testing
import UsherTestKit

/// `registration.checkDuplicate` and `registration.checkUserKey` with a provider that fails.
@Suite(
  "BSA: registration.* and a provider that fails", .mayBlock, .timeLimit(.minutes(10)))
struct FaultCheckTests {
  private let scene: BSAScene

  init() throws { scene = try BSAScene.hasty() }

  private static let calls: [(endpoint: String, method: String, params: JSONValue)] = [
    (
      "duplicateCheck", "registration.checkDuplicate",
      ["provider": "bsa", "verifyType": "phoneNumber", "verifyData": "+447700900123"]
    ),
    ("idCheck", "registration.checkUserKey", ["provider": "bsa", "userKey": "alice.01"]),
  ]

  @Test(
    "down: an error that may be tried again, and nothing is repeated by itself",
    arguments: BSAFault.passing + BSAFault.lost)
  func down(_ fault: BSAFault) throws {
    for (endpoint, method, params) in Self.calls {
      try scene.spoil(endpoint, fault.json, times: 1)
      let error = try scene.app.error(of: method, params)
      #expect(error["data"]?["reason"] == "provider_unreachable", "\(error.text)")
      #expect((error["data"]?["provider"] ?? .null) == .null, "it has no code: \(error.text)")
      #expect(try scene.requests(endpoint) == 1)
      #expect(try scene.app.reply(to: method, params)["result"] != nil, "it is up again")
    }
  }

  @Test("an answer that is none is an error of its own", arguments: BSAFault.lasting)
  func unreadable(_ fault: BSAFault) throws {
    for (endpoint, method, params) in Self.calls {
      try scene.spoil(endpoint, fault.json, times: 1)
      let error = try scene.app.error(of: method, params)
      #expect(error["data"]?["reason"] == "provider_protocol_error", "\(error.text)")
    }
  }

  @Test("a provider that says when to come again is quoted")
  func retryAfter() throws {
    for (endpoint, method, params) in Self.calls {
      try scene.spoil(
        endpoint, ["status": 503, "headers": ["Retry-After": "7"]], times: 1)
      let data = try scene.app.error(of: method, params)["data"]
      #expect(data?["retryAfterMs"] == 7000, "\(data?.text ?? "none")")
    }
  }

  @Test("a provider that is not there")
  func gone() throws {
    scene.sandbox.killAtOnce()
    for (_, method, params) in Self.calls {
      #expect(try scene.app.reason(of: method, params) == "provider_unreachable")
    }
  }
}
