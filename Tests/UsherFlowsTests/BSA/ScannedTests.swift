import JSONRPC
import Testing
import UsherAPI
import UsherConfig
import UsherCore

@testable import UsherFlows

private typealias Driven = DrivenSignIn

@Suite("BSA sign-in by QR code")
struct ScannedTests {
  private func typed(_ id: String = "qr-1") throws -> Driven {
    var driven = try Driven(.qr)
    driven.say(.form(["qrId": Secret(id)]))
    driven.prove()
    return driven
  }

  @Test("BSA authenticate by qr asks for the content of the QR code")
  func asks() throws {
    let driven = try Driven(.qr)
    #expect(driven.last == .proceed([]))
    #expect(driven.state == "scan" && driven.problem == nil)
    #expect(
      driven.step
        == .fillForm(
          .init(fields: [Field(name: "qrId", type: .text, required: true, maxLength: 4096)])))
  }

  @Test("BSA authenticate sends a typed QR id unchanged, after local authentication")
  func typing() throws {
    for id in ["qr-1", "https://x.example/?a=b&c", String(repeating: "q", count: 4096)] {
      var driven = try Driven(.qr)
      driven.say(.form(["qrId": Secret(id)]))
      #expect(driven.state == "localAuth" && driven.calls.isEmpty)
      driven.prove()
      #expect(
        driven.calls == [
          .start(BSASignInSession(device: BSAParts.device, qrID: id), userKey: BSAParts.userKey)
        ])
    }
  }

  @Test("BSA authenticate by qr refuses an impossible QR id, an unknown field and the input back")
  func refused() throws {
    var driven = try Driven(.qr)
    let before = driven.flow
    for fields: [String: Secret] in [
      [:], ["qrId": Secret("")], ["qrId": Secret("a b")], ["qrId": Secret("qür")],
      ["qrId": Secret(String(repeating: "q", count: 4097))],
    ] {
      driven.say(.form(fields))
      #expect(driven.refusedField == "input.fields.qrId")
    }
    driven.say(.form(["qrId": Secret("qr-1"), "z": Secret("x"), "b": Secret("y")]))
    #expect(driven.refusedField == "input.fields.b")
    driven.say(.back(.fillForm))
    #expect(driven.refusedField == "input.back")
    for event: FlowEvent<BSACall> in [.woken, .resumed, .answered(.localAuth(.scanned(.matched)))] {
      #expect(driven.receive(event) == .ignore)
    }
    #expect(driven.flow == before)
  }

  @Test("BSA authenticate with qrId needs no scan, and keeps it for the completion and token calls")
  func given() throws {
    var driven = try Driven.completing(.qr)
    #expect(driven.calls == [.complete(Driven.visit(.qr), isProved: true)])
    driven.said()
    #expect(driven.calls == [.result(Driven.visit(.qr), channel: Driven.channel)])
  }

  @Test(
    "a QR id that BSA refuses can be typed again", arguments: [Int64(5023), 5024])
  func invalidTyped(code: Int64) throws {
    var driven = try typed()
    driven.refused(code)
    #expect(driven.last == .proceed([]))
    #expect(driven.state == "scan" && driven.problem?.reason == "qr_invalid")
    #expect(driven.problem?.provider?.code == String(code))
    #expect(driven.problem?.message == RTCode(code).meaning)
    driven.say(.form(["qrId": Secret("qr-2")]))
    #expect(driven.state == "starting" && driven.problem == nil)
    driven.said(["channelKey": "channel-secret"])
    #expect(driven.state == "completing")
  }

  @Test("a qrId parameter that BSA refuses ends authenticate", arguments: [Int64(5023), 5024])
  func invalidGiven(code: Int64) throws {
    var driven = try Driven.starting(.qr)
    driven.refused(code)
    #expect(driven.end == End(.providerRejected, String(code)))
    #expect(driven.cleared == [.cancel(Driven.visit(.qr))])
  }

  @Test(
    "BSA rtCodes 5023 and 5024 end a sign-in without a QR code", arguments: [Int64(5023), 5024])
  func invalidElsewhere(code: Int64) throws {
    for way in [BSAAuthenticate.Way.push, .otp, .totp] {
      var driven = try Driven.starting(way)
      driven.refused(code)
      #expect(driven.end == End(.providerRejected, String(code)))
    }
    var later = try typed()
    later.said(["channelKey": "channel-secret"])
    later.refused(code)
    #expect(later.end == End(.providerRejected, String(code)), "the sign-in has already begun")
  }

  @Test("a cancelled local authentication by qr has nothing to cancel at BSA")
  func notKnown() throws {
    var driven = try Driven(.qr, qrID: "qr-1")
    driven.look()
    driven.say(.cancelLocalAuth)
    #expect(driven.end == End(.cancelled, "USER_CANCEL"))
    #expect(driven.cleared.isEmpty)
  }
}
