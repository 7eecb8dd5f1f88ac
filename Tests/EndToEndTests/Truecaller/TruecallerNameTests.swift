import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Names by the seed's rules: a letter at least, less than 128 characters, the last one may be empty
/// but not null.
@Suite("Truecaller: names", .mayBlock, .timeLimit(.minutes(10)))
struct TruecallerNameTests {
  /// One letter of two bytes, so that bytes are not taken for characters.
  private static func long(_ count: Int) -> String { String(repeating: "ä", count: count) }

  private let scene: TruecallerScene

  init() throws { scene = try TruecallerScene() }

  @Test("bad names: a problem with TCError 18, no call, the step as it was")
  func bad() throws {
    let first = try scene.verify()
    let code = try scene.code()
    let cases: [(first: String, last: String?)] = [
      ("", "Rao"), ("12345", "Rao"), ("😀😀", "Rao"), ("!?-", "Rao"), ("   ", "Rao"),
      ("\u{301}\u{302}", "Rao"), ("Asha\u{7}", "Rao"), ("As\nha", "Rao"), (Self.long(128), "Rao"),
      (Self.long(129), "Rao"), (String(repeating: "a😀", count: 43), "Rao"),
      ("Asha", nil), ("Asha", "99"), ("Asha", "😀"), ("Asha", "\u{301}"), ("Asha", Self.long(128)),
      ("Asha", Self.long(129)), ("Asha", " "),
    ]
    var flow = first
    for (name, last) in cases {
      flow = try scene.enter(code, name, last, to: flow)
      #expect(flow.problem == ["invalid_name", "18"], "\(name) \(last ?? "nil"): \(flow.text)")
      #expect(flow["state"] == "otpInitiated")
      #expect(flow["step"] == first["step"])
    }
    #expect(try scene.requests("verify") == 0)
    #expect(try scene.requests("update") == 0)
  }

  @Test("names of the wrong type are refused, and nothing changes")
  func types() throws {
    let flow = try scene.verify()
    var entry = TruecallerScene.entry(try scene.code())
    for last: JSONValue in [.null, 7, ["Rao"]] {
      entry["fields"] = ["firstName": "Asha", "lastName": last]
      let (reason, field) = try scene.refusal(entry, to: flow)
      #expect(reason == "invalid_input", "\(last.text): \(reason ?? "none")")
      #expect(field?.contains("lastName") == true, "\(field ?? "none")")
    }
    entry["fields"] = nil
    #expect(try scene.submit(entry, to: flow).problem == ["invalid_name", "18"])
    #expect(try scene.requests("verify") == 0)
  }

  @Test(
    "good names arrive as they were typed",
    arguments: [
      (String(repeating: "ä", count: 127), String(repeating: "b", count: 127)),
      ("É", ""), ("A\u{301}sha", "Ra\u{304}o"), ("आशा", "राव"), ("X Æ A-12", "O'Neill 😀"),
      ("李", "7 of 9"),
    ])
  func good(first: String, last: String) throws {
    let flow = try scene.verify()
    let end = try scene.enter(scene.code(), first, last, to: flow)
    #expect(end["status"] == "succeeded", "\(end.text)")
    let written = try scene.profile()
    #expect(written["firstName"]?.stringValue?.utf8.elementsEqual(first.utf8) == true)
    #expect(written["lastName"]?.stringValue?.utf8.elementsEqual(last.utf8) == true)
    #expect(end["result"]?["profile"]?["firstName"] == .string(first))
  }

  @Test("a profile update that fails is reported: by status, or by a code in HTTP 200")
  func updateFails() throws {
    try scene.set(["refuseNames": true])
    var flow = try scene.verify()
    let refused = try scene.enter(scene.code(), to: flow)
    #expect(refused["status"] == "failed")
    #expect(refused.failure == ["provider_rejected", "13", "4221"], "\(refused.text)")
    try scene.set(
      ["refuseNames": .null, "updateReply": ["code": 4221, "message": "the name is refused"]])
    flow = try scene.verify("9876543211")
    let inside = try scene.enter(scene.code(), to: flow)
    #expect(inside.failure == ["provider_rejected", "13", "4221"], "\(inside.text)")
    #expect(inside["failure"]?["provider"]?["message"] == "the name is refused")
    #expect(try scene.requests("profile") == 0)
    // Both numbers are verified: their tokens stay.
    let kept = try scene.app.call("account.list")["accounts"]?.arrayValue ?? []
    #expect(kept.map { $0["attributes"]?["profilePending"] } == [true, true], "\(kept)")
  }

  @Test("half an answer to the update is no yes: what is cut off may be a refusal")
  func updateUnreadable() throws {
    let flow = try scene.verify()
    try scene.spoil("update", ["brokenJSON": true], times: 1)
    let end = try scene.enter(scene.code(), to: flow)
    #expect(end.failure == ["provider_protocol_error", "10", nil], "\(end.text)")
    #expect(try scene.requests("profile") == 0)
  }

  @Test("an update that gets no answer is told while otpReceived, and tried again")
  func updateInTrouble() throws {
    let flow = try scene.verify()
    try scene.spoil("update", ["reset": true], times: 1)
    let sent = try scene.enter(scene.code(), to: flow, waitMs: 0)
    let told = try scene.moved(sent, "is in trouble") { $0.problem[0] != nil }
    #expect(told["state"] == "otpReceived", "\(told.text)")
    #expect(told.problem == ["provider_unreachable", "9"])
    #expect(try scene.app.finished(told)["status"] == "succeeded")
    #expect(try scene.requests("update") == 2)
  }
}
