import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Every secret of a verification goes through the daemon once; afterwards each is looked for
/// wherever it must not be.
@Suite("Canaries, Truecaller", .mayBlock, .ownProcess, .timeLimit(.minutes(10)))
struct TruecallerCanaryTests {
  /// The sandbox gives these out instead of its own.
  private static let verificationToken = "canary-verification-token-7f3a"
  private static let accessToken = "canary-access-token-91bc"
  private static let name = "Canaryfirstname"
  private static let lastName = "Canarylastname"
  /// National: with the calling code before them they are found as well.
  private static let numbers = ["9876543210", "9876543211", "9876543212", "9876543213"]

  @Test(
    "no code, token or app key is told or left anywhere; nor, of trouble, a number or a name")
  func everywhere() throws {
    let scene = try TruecallerScene(validation: "v2_8", logLevel: "trace")
    try scene.set(["numberDailyCap": 1000, "installationDailyCap": 1000])
    let listener = try scene.daemon.client()
    _ = try listener.call("events.subscribe", ["topics": ["flow", "account", "token", "provider"]])
    let codes = Codes()
    let troubled = try troubles(scene, codes) + events(listener)
    var told: [String] = []
    let tokens = try success(scene, codes, &told)
    told += events(listener)

    let environment = ["cmdline", "environ"].map { name in
      FileManager.default.contents(atPath: "/proc/\(scene.daemon.pid)/\(name)") ?? Data()
    }
    let running = files(scene)
    #expect(try scene.daemon.stop() == 0)
    let success = [("what was told of success", Data(told.joined(separator: "\n").utf8))]
    let places =
      running + files(scene) + environment.map { ("process", $0) }
      + [("what was told of trouble", Data(troubled.joined(separator: "\n").utf8))]
    let secrets =
      codes.all + tokens + [Self.verificationToken, Self.accessToken, TruecallerScene.appKey]
    for (name, bytes) in places + success {
      for secret in secrets {
        #expect(!contains(secret, in: bytes), "\(secret.prefix(8))… is in \(name)")
      }
    }
    // Only who has succeeded is told who he is.
    for (name, bytes) in places {
      for secret in [Self.name, Self.lastName] + Self.numbers {
        #expect(!contains(secret, in: bytes), "\(secret.prefix(8))… is in \(name)")
      }
    }
    // The search finds what is there, and everything was there to be found.
    #expect(places.contains { contains("otpInitiated", in: $0.1) })
    #expect(troubled.contains { $0.contains("wrong_code") })
    #expect(success.allSatisfy { contains(Self.name, in: $0.1) && contains("98765432", in: $0.1) })
    #expect(codes.all.count > 10 && tokens.count == 2)
  }

  /// The codes that went through, as they are typed.
  private final class Codes {
    var all: [String] = []

    func next(_ scene: TruecallerScene) throws -> String {
      let code = try scene.code()
      all.append(code)
      return code
    }
  }

  private func events(_ listener: RawClient) -> [String] {
    var told: [String] = []
    while let line = try? listener.receiveLine(within: 1) {
      told.append(String(decoding: line, as: UTF8.self))
    }
    return told
  }

  /// A refusal that repeats all that was typed.
  private func echo(_ code: String, _ number: String) -> JSONValue {
    let text = "\(code) is wrong for +91\(number), \(Self.name) \(Self.lastName)"
    return ["code": .string("BAD-\(code)-\(number)-\(Self.name)"), "message": .string(text)]
  }

  /// Everything that goes wrong with secrets in hand; what was told of it.
  private func troubles(_ scene: TruecallerScene, _ codes: Codes) throws -> [String] {
    var told: [String] = []
    let number = Self.numbers[0]
    var flow = try scene.verify(number)
    // Too long for a code, and refused for it.
    let long = "918273645546372819"
    codes.all.append(long)
    let refused = try scene.app.reply(
      to: "flow.submit",
      [
        "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null,
        "input": TruecallerScene.entry(long),
      ])
    told.append(refused.text)
    for fault: JSONValue in [["reset": true], ["brokenJSON": true]] {
      try scene.spoil("verify", fault, times: 1)
      flow = try scene.enter(codes.next(scene), Self.name, Self.lastName, to: flow)
      told.append(flow.text)
    }
    for (endpoint, status) in [
      ("create", 200), ("create", 400), ("create", 401), ("create", 429), ("verify", 200),
      ("verify", 401), ("verify", 410), ("verify", 422), ("verify", 429), ("verify", 503),
      ("validate", 404), ("update", 200), ("update", 422), ("profile", 404),
    ] {
      if endpoint == "create" {
        try scene.spoil(
          endpoint, ["status": .integer(Int64(status)), "body": echo("000000", number)], times: 1)
        told.append(try scene.verify(number).text)
        continue
      }
      flow = try scene.verify(number)
      let code = try codes.next(scene)
      try scene.spoil(
        endpoint, ["status": .integer(Int64(status)), "body": echo(code, number)], times: 1)
      flow = try scene.enter(code, Self.name, Self.lastName, to: flow)
      #expect(flow["status"] == "failed" || flow["problem"] != .null, "\(endpoint) \(status)")
      told.append(flow.text)
      told += try keptToken(scene, after: endpoint, echo(code, number), number)
      try scene.sandbox.control("DELETE", "truecaller/verified")
      try scene.sandbox.control("DELETE", "faults")
    }
    // The server's own words do not carry its tokens on.
    try scene.set(["createReply": ["verificationToken": .string(Self.verificationToken)]])
    flow = try scene.verify(Self.numbers[1])
    told.append(flow.text)
    let other = try codes.next(scene)
    told.append(try scene.enter(other, Self.name, Self.lastName, to: flow).text)
    try scene.set([
      "createReply": [:], "verifyReply": ["accessToken": .string(Self.accessToken)],
    ])
    flow = try scene.verify(Self.numbers[2])
    let third = try codes.next(scene)
    told.append(try scene.enter(third, Self.name, Self.lastName, to: flow).text)
    try scene.set(["verifyReply": [:]])
    return told
  }

  /// The profile that cannot be read with a token that was kept, and the account taken away; what was
  /// told of it.
  private func keptToken(
    _ scene: TruecallerScene, after endpoint: String, _ echo: JSONValue, _ number: String
  ) throws -> [String] {
    let accounts = try scene.app.call("account.list")["accounts"]?.arrayValue ?? []
    // A number that was verified stays so, whatever becomes of the name and the profile.
    #expect(accounts.count == (["update", "profile"].contains(endpoint) ? 1 : 0), "\(endpoint)")
    guard let account = accounts.first else { return [] }
    #expect(account["attributes"]?["profilePending"] == true, "\(account.text)")
    try scene.spoil("profile", ["status": 404, "body": echo], times: 1)
    let end = try scene.verify(number)
    #expect(end["status"] == "failed", "\(end.text)")
    let forgotten = try scene.app.call("account.forget", ["account": account["id"] ?? .null])
    return [end.text, forgotten.text]
  }

  /// A success by SMS, one without, and what may be read of it.
  private func success(
    _ scene: TruecallerScene, _ codes: Codes, _ told: inout [String]
  ) throws -> [String] {
    var tokens: [String] = []
    for _ in 0..<2 {
      var end = try scene.verify(Self.numbers[3])
      if end["status"] == "active" {
        end = try scene.enter(codes.next(scene), Self.name, Self.lastName, to: end)
      }
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
