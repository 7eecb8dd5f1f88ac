import Foundation
import Testing

@testable import UsherSandbox

@Suite("Device authorization flow and sign-in transactions of the sandbox")
struct DeviceTests {
  private func poll(_ ledger: inout Ledger, _ code: String, after seconds: Double) -> String? {
    refusal {
      _ = try ledger.pollDevice(
        code, client: publicClient, now: start.addingTimeInterval(seconds))
    }
  }

  @Test("each slow_down answer lengthens the polling interval of a device code by five seconds")
  func slowDown() {
    var ledger = Ledger()
    let code = ledger.startDevice(client: publicClient, scope: [], now: start).deviceCode
    #expect(poll(&ledger, code, after: 0) == "authorization_pending")
    #expect(poll(&ledger, code, after: 2) == "slow_down")
    #expect(poll(&ledger, code, after: 11) == "slow_down")
    #expect(poll(&ledger, code, after: 26) == "authorization_pending")
    #expect(poll(&ledger, code, after: 40) == "slow_down")
  }

  @Test(
    "polling a denied, expired, unknown or foreign device code returns the matching OAuth error")
  func refused() {
    var ledger = Ledger()
    let code = ledger.startDevice(client: publicClient, scope: [], now: start).deviceCode
    let foreign = refusal {
      _ = try ledger.pollDevice(code, client: confidentialClient, now: start)
    }
    #expect(foreign == "invalid_grant")
    ledger.settleDevice(code, user: alice, allowed: false, authTime: start)
    #expect(poll(&ledger, code, after: 1) == "access_denied")
    #expect(poll(&ledger, code, after: 600) == "expired_token")
    #expect(poll(&ledger, "dc_x", after: 0) == "invalid_grant")
  }

  @Test("an allowed device code yields tokens once")
  func once() throws {
    var ledger = Ledger()
    let code = ledger.startDevice(client: publicClient, scope: ["openid"], now: start).deviceCode
    ledger.settleDevice(code, user: alice, allowed: true, authTime: start)
    let tokens = try ledger.pollDevice(code, client: publicClient, now: start)
    #expect(tokens.authorization.user == alice)
    #expect(poll(&ledger, code, after: 10) == "invalid_grant")
  }

  @Test("a device gets a refresh token where only access_type=offline grants one to a browser")
  func offlineAccessType() throws {
    var settings = OIDCBackendSettings()
    settings.refreshTokensNeedOfflineAccessType = true
    var ledger = Ledger(terms: settings.terms)
    let code = ledger.startDevice(client: publicClient, scope: [], now: start).deviceCode
    ledger.settleDevice(code, user: alice, allowed: true, authTime: start)
    let tokens = try ledger.pollDevice(code, client: publicClient, now: start)
    #expect(tokens.refreshToken != nil)
  }

  @Test(
    "a user code matches in any letter case and with any separators until it is settled or expires")
  func userCodes() {
    var ledger = Ledger()
    let device = ledger.startDevice(client: publicClient, scope: [], now: start)
    let typed = device.userCode.lowercased().replacingOccurrences(of: "-", with: " ")
    #expect(ledger.waitingDevice(userCode: typed, now: start) == device.deviceCode)
    #expect(ledger.waitingDevice(userCode: "", now: start) == nil)
    let late = start.addingTimeInterval(600)
    #expect(ledger.waitingDevice(userCode: typed, now: late) == nil)
    ledger.settleDevice(device.deviceCode, user: alice, allowed: true, authTime: start)
    #expect(ledger.waitingDevice(userCode: typed, now: start) == nil)
  }

  @Test("a sign-in transaction requires its CSRF token, expires, and ends after ten wrong attempts")
  func transactions() throws {
    var ledger = Ledger()
    let begun = ledger.begin(.device, now: start)
    #expect(throws: Ledger.SignInFailure.unknown) {
      try ledger.transaction(begun.id, csrf: "cs_x", now: start)
    }
    #expect(throws: Ledger.SignInFailure.unknown) {
      try ledger.transaction(begun.id, csrf: begun.csrf, now: start.addingTimeInterval(601))
    }
    _ = try ledger.transaction(begun.id, csrf: begun.csrf, now: start)
    #expect(throws: Ledger.SignInFailure.wrongUserCode) {
      try ledger.signIn(begun.id, user: alice, userCode: "BBBB-BBBB", now: start)
    }
    for _ in 2..<Ledger.attempts {
      #expect(throws: Ledger.SignInFailure.wrongPassword) {
        try ledger.signIn(begun.id, user: nil, userCode: nil, now: start)
      }
    }
    #expect(throws: Ledger.SignInFailure.tooManyAttempts) {
      try ledger.signIn(begun.id, user: nil, userCode: nil, now: start)
    }
    #expect(throws: Ledger.SignInFailure.unknown) {
      try ledger.signIn(begun.id, user: alice, userCode: nil, now: start)
    }
  }
}
