import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Every secret of a verification goes through the daemon once; afterwards each is looked for
/// wherever it must not be.
@Suite("Canaries, Truecaller", .serialized, .timeLimit(.minutes(2)))
struct TruecallerCanaryTests {
  /// The sandbox gives these out instead of its own.
  private static let verificationToken = "canary-verification-token-7f3a"
  private static let accessToken = "canary-access-token-91bc"
  private static let name = "Canaryfirstname"

  @Test("no code, access token, verification token or app key is in a log, event, error or page")
  func everywhere() throws {
    let scene = try TruecallerScene(validation: "v2_8", logLevel: "trace")
    let listener = try scene.daemon.client()
    _ = try listener.call("events.subscribe", ["topics": ["flow", "account", "token", "provider"]])
    var told: [String] = []
    let codes = try troubles(scene, &told)
    let tokens = try success(scene, &told)

    while let line = try? listener.receiveLine(within: 1) {
      told.append(String(decoding: line, as: UTF8.self))
    }
    let environment = ["cmdline", "environ"].map { name in
      FileManager.default.contents(atPath: "/proc/\(scene.daemon.pid)/\(name)") ?? Data()
    }
    let running = files(scene)
    #expect(try scene.daemon.stop() == 0)
    let places =
      running + files(scene) + [("what was told", Data(told.joined(separator: "\n").utf8))]
      + environment.map { ("process", $0) }
    let secrets =
      codes + tokens + [
        Self.verificationToken, Self.accessToken, TruecallerScene.appKey, Self.name,
      ]
    for (name, bytes) in places {
      for secret in secrets where !(secret == Self.name && name == "what was told") {
        #expect(!contains(secret, in: bytes), "\(secret.prefix(8))… is in \(name)")
      }
    }
    // The search finds what is there.
    #expect(places.contains { contains("otpInitiated", in: $0.1) })
    #expect(codes.count == 3 && tokens.count == 2)
  }

  /// Everything that goes wrong with secrets in hand.
  private func troubles(_ scene: TruecallerScene, _ told: inout [String]) throws -> [String] {
    // Too long for a code by chance in a time or an id, and refused for it.
    let long = "918273645546372819"
    var flow = try scene.verify()
    let refused = try scene.app.reply(
      to: "flow.submit",
      [
        "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null,
        "input": TruecallerScene.entry(long),
      ])
    told.append(refused.text)
    let code = try scene.code()
    for fault: JSONValue in [
      ["status": 500, "body": ["code": 500, "message": .string("no")]], ["reset": true],
      ["brokenJSON": true],
    ] {
      try scene.spoil("verify", fault, times: 1)
      flow = try scene.enter(code, Self.name, to: flow)
      told.append(flow.text)
    }
    // The server's own words do not carry its tokens on.
    try scene.set(["createReply": ["verificationToken": .string(Self.verificationToken)]])
    flow = try scene.verify("9876543211")
    told.append(flow.text)
    let other = try scene.code()
    told.append(try scene.enter(other, Self.name, to: flow).text)
    try scene.set([
      "createReply": [:], "verifyReply": ["accessToken": .string(Self.accessToken)],
    ])
    flow = try scene.verify("9876543212")
    let third = try scene.code()
    told.append(try scene.enter(third, Self.name, to: flow).text)
    try scene.set(["verifyReply": [:]])
    return [long] + [code, other].map { "\"\($0)\"" }
  }

  /// A success by SMS, one without, and what may be read of it.
  private func success(_ scene: TruecallerScene, _ told: inout [String]) throws -> [String] {
    var tokens: [String] = []
    for _ in 0..<2 {
      var end = try scene.verify("9876543213")
      if end["status"] == "active" { end = try scene.enter(scene.code(), Self.name, to: end) }
      #expect(end["status"] == "succeeded", "\(end.text)")
      told.append(end.text)
      let token = try scene.app.call("token.get", ["provider": "truecaller"])
      tokens.append(token["accessToken"]?.stringValue ?? "")
    }
    for method in ["account.list", "token.list", "flow.list", "provider.list", "system.status"] {
      told.append(try scene.app.call(method).text)
    }
    for arguments in [["config", "show"], ["credential", "list"]] {
      let shown = try scene.daemon.usherctl(arguments)
      #expect(shown.status == 0, "\(shown.errors)")
      told += [shown.output, shown.errors]
    }
    return tokens
  }

  private func files(_ scene: TruecallerScene) -> [(String, Data)] {
    scene.daemon.place.everything().filter { !$0.name.contains("master.key") }
      .map { ($0.name, $0.bytes) }
  }

  private func contains(_ secret: String, in bytes: Data) -> Bool {
    !secret.isEmpty
      && (bytes.range(of: Data(secret.utf8)) != nil
        || bytes.range(of: Data(Data(secret.utf8).base64EncodedString().utf8)) != nil)
  }
}
