import Foundation
import JSONRPC
import Testing
import UsherTestKit

/// Sends marked secrets through the daemon in many ways, and then searches for the mark in all
/// places where it must not be.
@Suite("Search for leaked secrets", .mayBlock, .timeLimit(.minutes(10)))
struct CanaryTests {
  private static let decoy = "decoy-provider"

  private let mark = "Kanarienvogel\(UInt64.random(in: .min ... .max))"
  private let clientSecret: String
  private let provider: FakeProvider
  private let sandbox: SandboxUnderTest
  private let daemon: DaemonUnderTest
  private let client: RecordingClient
  private let listener: RecordingClient

  init() throws {
    clientSecret = "cs_\(mark)+with/odd:chars &c"
    provider = try FakeProvider(mark: mark)
    sandbox = try SandboxUnderTest()
    try sandbox.control("POST", "settings", ["deviceInterval": 1])
    daemon = try DaemonUnderTest(
      config: """
        [limits]
        flow_starts_per_minute = 1000

        """ + provider.config(Self.decoy, credential: "fake-secret") + sandbox.provider(),
      logLevel: "trace")
    client = RecordingClient(try daemon.client())
    listener = RecordingClient(try daemon.client())
  }

  @Test(
    "no secret is in the log, the files, the process, events or any reply but that of token.get",
    .ownProcess)
  func everywhere() throws {
    let topics: JSONValue = ["flow", "account", "token", "provider"]
    try listener.reply(to: "events.subscribe", ["topics": topics])
    var shown = try signIns() + refreshes() + rudeness() + commandLine()
    let atSandbox = try sandboxTokens()
    listener.collect()
    shown += client.lines + listener.lines

    let traces = try secrets(atSandbox)
    let process = ["cmdline", "environ"].map { name in
      (name, FileManager.default.contents(atPath: "/proc/\(daemon.pid)/\(name)") ?? Data())
    }
    let running = daemon.place.everything()
    #expect(try daemon.stop() == 0)
    let stopped = daemon.place.everything()
    let places =
      process + running.map { ("\($0.name), running", $0.bytes) }
      + stopped.map { ("\($0.name), stopped", $0.bytes) }
      + [("what was answered", Data(shown.joined(separator: "\n").utf8))]

    try expectDecoys(places, process)
    // The full length: a random number of the daemon, of 43 characters, may contain "-dc_".
    let sandboxToken = /\b(at|rt|ac|dc)_[A-Za-z0-9_-]{43}/
    #expect(atSandbox.count == 2 && atSandbox.allSatisfy { $0.wholeMatch(of: sandboxToken) != nil })
    for (name, bytes) in places where !name.contains("master.key") {
      for trace in traces where trace.isIn(bytes) {
        Issue.record("\(name) contains a secret: \(excerpt(bytes, trace))")
      }
      let text = String(decoding: bytes, as: UTF8.self)
      let token = text.firstMatch(of: sandboxToken)
      #expect(token == nil, "\(name) contains a token of the sandbox: \(token?.0 ?? "")")
    }
  }

  @Test("the leak search finds a marked token as text, in Base64 and in a token.get reply")
  func search() throws {
    let trace = Trace(mark)
    let token = "at_\(mark)_x"
    for prefix in ["", "a", "ab"] {
      #expect(trace.isIn(Data((prefix + token).utf8)))
      #expect(trace.isIn(Data(Data((prefix + token).utf8).base64EncodedString().utf8)))
    }
    #expect(!trace.isIn(Data("Kanarienvogel".utf8)))
    try setSecret()
    _ = try signIn(nil, nil)
    let reply = try daemon.client().call("token.get", ["provider": .string(Self.decoy)])
    #expect(trace.isIn(Data(reply.text.utf8)))
    #expect(try provider.secrets().count { $0.hasPrefix("ac_") || $0.hasPrefix("rt_") } == 2)
  }
}

// Uses of the secrets.
extension CanaryTests {
  private func setSecret() throws {
    let set = try daemon.usherctl(["credential", "set", "fake-secret"], input: clientSecret)
    try #require(set.status == 0, "\(set.errors)")
  }

  /// Signs in without a client secret, then with each kind of faulty answer, then without a fault.
  private func signIns() throws -> [String] {
    var pages = try signIn(nil, nil)
    try setSecret()
    let spoils = [
      ("token", ["400", "401", "403", "500", "redirect", "type", "types", "token_type"]),
      ("token", ["broken", "half", "signature", "claims", "echo"]), ("jwks", ["500", "broken"]),
      ("userinfo", ["500", "broken", "types", "half"]),
    ]
    for (endpoint, kinds) in spoils {
      for how in kinds { pages += try signIn(endpoint, how) }
    }
    return pages + (try signIn(nil, nil))
  }

  /// Signs in, after making the next answer of an endpoint faulty if one is given.
  ///
  /// - Returns: The pages that the daemon showed in the browser.
  private func signIn(_ endpoint: String?, _ how: String?) throws -> [String] {
    if let endpoint, let how { try provider.spoil(endpoint, how) }
    var pages: [String] = []
    var flow = try client.reply(
      to: "flow.start",
      [
        "provider": .string(Self.decoy), "kind": "authorize", "params": [:], "waitMs": 50_000,
      ])["result"]?["flow"]
    for _ in 0..<20 {
      guard let now = flow, now["status"] == "active" else { break }
      if let url = now["step"]?["url"]?.stringValue {
        if let back = try Web.get(url).location { pages.append(try Web.get(back).text) }
      }
      flow = try client.reply(
        to: "flow.wait",
        [
          "flow": now["id"] ?? .null, "revision": now["revision"] ?? .null, "timeoutMs": 50_000,
        ])["result"]?["flow"]
    }
    return pages
  }

  private func refreshes() throws -> [String] {
    let get: JSONValue = ["provider": .string(Self.decoy), "minValidSeconds": 86_400]
    let kinds = [
      "401", "403", "echo", "type", "types", "token_type", "redirect", "broken", "500", "half",
    ]
    for how in kinds {
      try provider.spoil("token", how)
      try client.reply(to: "token.get", get)
    }
    try provider.spoil("revoke", "500")
    try client.reply(to: "token.revoke", ["provider": .string(Self.decoy)])
    let pages = try signIn(nil, nil)
    try provider.spoil("token", "400")
    try client.reply(to: "token.get", get)
    try client.reply(to: "account.list", [:])
    try client.reply(to: "token.list", [:])
    return pages
  }

  /// Sends secrets in places that must not hold any.
  private func rudeness() throws -> [String] {
    let start = try client.reply(
      to: "flow.start",
      [
        "provider": .string(Self.decoy), "kind": "authorize", "params": [:], "waitMs": 50_000,
      ])
    let flow = try #require(start["result"]?["flow"])
    let uri = try #require(flow["step"]?["redirectURI"]?.stringValue)
    let answer = "code=ac_\(mark)&state=st_\(mark)"
    let urls = [
      "\(uri)?\(answer)", "\(uri)?code=ac_\(mark)", "http://127.0.0.1:1/callback?\(answer)",
      "ac_\(mark)", "\(uri)?error=e_\(mark)&state=no", "\(uri)?code=%zz\(mark)",
      "https://user:\(mark)@host.example/\(mark)", "\(uri)?\(answer)&\(answer)",
    ]
    for url in urls {
      try client.reply(
        to: "flow.submit",
        [
          "flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null,
          "input": ["type": "openURL", "redirectURL": .string(url)],
        ])
    }
    let inputs: [JSONValue] = [
      ["type": "enterCode", "code": .string(mark)],
      ["type": "enterPassword", "password": .string(mark)],
      ["type": "openURL", "redirectURL": [.string(mark)]], .string(mark),
    ]
    for input in inputs {
      try client.reply(
        to: "flow.submit",
        ["flow": flow["id"] ?? .null, "revision": flow["revision"] ?? .null, "input": input])
    }
    let admin = RecordingClient(try daemon.admin())
    for name in ["", "a b", "ok"] {
      let value: JSONValue = name == "ok" ? [.string(mark)] : .string(mark)
      try admin.reply(to: "credential.set", ["name": .string(name), "value": value])
    }
    try admin.reply(toLine: #"{"jsonrpc":"2.0","id":1,"method":"x","params":{"p":"\#(mark)"#)
    try admin.reply(toLine: #"{"jsonrpc":"2.0","id":["\#(mark)"],"method":"x"}"#)
    try admin.reply(to: "credential.list", [:])
    return admin.lines + (try urls.prefix(2).map { try Web.get($0).text })
  }

  private func commandLine() throws -> [String] {
    let verbs = [
      ["status"], ["flow", "list"], ["account", "list"], ["token", "list"], ["credential", "list"],
      ["provider", "list"], ["provider", "check", Self.decoy], ["token", "revoke", Self.decoy],
      ["token", "get", Self.decoy],
    ]
    return try verbs.flatMap { verb in
      let plain = try daemon.usherctl(verb)
      let json = try daemon.usherctl(["--json"] + verb)
      return [plain.output, plain.errors, json.output, json.errors]
    }
  }

  /// - Returns: The access tokens that `token.get` returned for the sandbox.
  private func sandboxTokens() throws -> [String] {
    for kind in ["authorize", "device"] {
      let end = try Story(daemon, kind: kind, requestID: kind).run()
      try #require(end["status"] == "succeeded", "\(end.text)")
    }
    return try [false, true].compactMap { isForced in
      try daemon.client().call("token.get", ["provider": "demo", "forceRefresh": .bool(isForced)])[
        "accessToken"]?.stringValue
    }
  }
}

// Search for the secrets.
extension CanaryTests {
  private func secrets(_ more: [String]) throws -> [Trace] {
    let known = try provider.secrets()
    #expect(known.count { $0.hasPrefix("rt_") } > 10)
    let key = try Data(contentsOf: URL(fileURLWithPath: "\(daemon.statePath)/master.key"))
    // Secrets without the mark: code verifiers, ID tokens and their signatures, the client's
    // header.
    let unmarked = Set(known.filter { !$0.contains(mark) } + more)
    #expect(unmarked.count > 50)
    return [Trace(mark), Trace("alice-password"), Trace(key)]
      + unmarked.map { Trace(asItIs: $0) }
  }

  /// Expects that the search finds texts that are known to be in these places.
  private func expectDecoys(_ places: [(String, Data)], _ process: [(String, Data)]) throws {
    let decoy = Trace(Self.decoy)
    func bytes(_ name: String) -> Data { places.first { $0.0 == name }?.1 ?? Data() }
    #expect(decoy.isIn(bytes("usherd.log, stopped")))
    #expect(decoy.isIn(bytes("state/usherd.db, stopped")))
    #expect(decoy.isIn(bytes("state/usherd.db-wal, running")))
    #expect(decoy.isIn(bytes("what was answered")))
    #expect(Trace("--config").isIn(bytes("cmdline")))
    #expect(Trace("PATH=").isIn(bytes("environ")))
  }

  private func excerpt(_ bytes: Data, _ trace: Trace) -> String {
    guard let found = trace.forms.lazy.compactMap({ bytes.range(of: $0) }).first else { return "" }
    let start = max(bytes.startIndex, found.lowerBound - 100)
    let end = min(bytes.endIndex, found.upperBound + 60)
    return String(decoding: bytes[start..<end], as: UTF8.self)
  }
}
