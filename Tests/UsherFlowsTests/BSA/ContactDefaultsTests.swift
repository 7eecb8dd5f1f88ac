import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

/// Without settings of the operator only BSA limits a verification.
@Suite("A contact verification without limits of the operator (BSA)")
struct ContactDefaultsTests {
  private let end = now + .seconds(600)

  /// Returns a flow that ends at `end` and has sent a code.
  private func sent() throws -> DrivenContact {
    var context = BSAParts.origin(BSAParts.withoutLimits)
    context.endsAt = end
    var driven = try DrivenContact(
      .init(sendType: .email, sendTarget: BSAParts.email), context)
    driven.said()
    return driven
  }

  @Test("without otp_seconds BSA is asked about a code until the flow ends, also after a restart")
  func lifetime() throws {
    var driven = try sent()
    #expect(driven.enterCode?.expiresAt == end)
    try driven.restart()
    driven.type(at: end - .seconds(1))
    #expect(driven.calls == [.verify(BSAParts.contact(), number: BSAParts.number)])
    driven.refused(3006)
    #expect(driven.problem?.reason == "code_expired")
    #expect(driven.problem?.provider?.message == "the vendor's words")
  }

  @Test("without resend_seconds and max_codes BSA is asked for each code at once")
  func codes() throws {
    var driven = try sent()
    for _ in 1...20 {
      #expect(driven.enterCode?.resendAt == now)
      driven.say(.resend)
      #expect(driven.calls == [.send(BSAParts.contact())])
      driven.said()
    }
  }

  @Test("a code that BSA does not resend is a problem with BSA's rtCode and message")
  func refusedResend() throws {
    for code: Int64 in [3006, 2012, 4711] {
      var driven = try sent()
      driven.say(.resend)
      driven.refused(code)
      #expect(driven.state == "otpSent" && driven.problem?.reason == "not_sent")
      #expect(driven.problem?.provider?.code == String(code))
      #expect(driven.problem?.provider?.message == "the vendor's words")
    }
  }

  @Test("without max_wrong_codes BSA decides how often a number may be wrong")
  func guesses() throws {
    var driven = try sent()
    for round in 1...20 {
      driven.type()
      if round.isMultiple(of: 2) { driven.wrong() } else { driven.refused(3005) }
      #expect(driven.state == "otpSent" && driven.problem?.reason == "wrong_code")
    }
    driven.type()
    driven.refused(5006)
    #expect(driven.state == "otpSent" && driven.problem?.provider?.code == "5006")
  }
}

@Suite("The client key of a typed code (BSA)")
struct TypedClientKeyTests {
  private func sent(_ clientKey: String?) throws -> DrivenContact {
    var params = BSAVerifyContact.Params(sendType: .email, sendTarget: BSAParts.email)
    params.clientKey = clientKey.map { WireSecret($0) }
    var driven = try DrivenContact(params, BSAParts.origin())
    driven.said()
    return driven
  }

  private func input(_ clientKey: String) -> FlowInput {
    .code(BSAParts.number, fields: ["clientKey": Secret(clientKey)])
  }

  @Test("a code with another clientKey than the request's is refused, also after a restart")
  func other() throws {
    var driven = try sent("client-key-secret")
    for isRestarted in [false, true] {
      if isRestarted { try driven.restart() }
      let before = driven.flow
      for key in ["", "other", "client-key-secret "] {
        driven.say(input(key))
        #expect(driven.refusedField == "input.fields.clientKey")
        #expect(driven.flow == before)
      }
    }
    #expect(try !stored(driven.flow).contains("other"))
  }

  @Test("a code with the request's clientKey is sent to BSA without it")
  func same() throws {
    for key in ["client-key-secret", nil] {
      var driven = try sent(key)
      driven.say(input("client-key-secret"))
      #expect(driven.calls == [.verify(BSAParts.contact(), number: BSAParts.number)])
    }
  }
}
