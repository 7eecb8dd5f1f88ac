import JSONRPC
import Testing
import UsherHelpers
import UsherTestKit

@Suite("The program usher-helper", .mayBlock, .timeLimit(.minutes(10)))
struct HelperProgramTests {
  private func helper(
    _ arguments: [String], socket: String, input: String = "", seconds: Int = 60
  ) throws -> (status: Int32, output: String, errors: String) {
    try run(
      BuiltProduct.path("usher-helper"), arguments,
      environment: ["USHER_SOCKET": socket, "USHER_HELPER_SECONDS": "\(seconds)"], input: input)
  }

  private func expect(
    _ end: (status: Int32, output: String, errors: String), _ status: Int32, _ output: String = "",
    errors: String = "", at location: SourceLocation = #_sourceLocation
  ) {
    #expect(end.status == status, sourceLocation: location)
    #expect(end.output == output, sourceLocation: location)
    #expect(end.errors == errors, sourceLocation: location)
  }

  @Test("the helper makes one call and prints the tool's reply")
  func token() async throws {
    try await FakeDaemon.run { peer in
      let call = try await peer.nextOfAny()
      #expect(call.method == "token.forTarget")
      #expect(call.params == ["kind": "git", "name": "https://git.example/"])
      try await peer.reply(call, #"{"accessToken":"at-1","tokenType":"Bearer"}"#)
    } _: { daemon in
      let end = try helper(
        ["git", "get"], socket: daemon.path, input: "protocol=https\nhost=git.example\n\n")
      expect(end, 0, "username=oauth2\npassword=at-1\n")
      #expect(daemon.connections == 1)
    }
  }

  @Test("each line of cargo is answered on a connection of its own")
  func lines() async throws {
    let request =
      #"{"v":1,"registry":{"index-url":"https://c.example/"},"kind":"get","operation":"read"}"#
    try await FakeDaemon.run { peer in
      try await peer.reply(try await peer.nextOfAny(), #"{"accessToken":"at-\#(peer.index)"}"#)
    } _: { daemon in
      let end = try helper(["cargo"], socket: daemon.path, input: "\(request)\n\(request)")
      let lines = end.output.split(separator: "\n")
      #expect(lines.count == 3 && end.status == 0)
      #expect(lines.first == #"{"v":[1]}"#)
      #expect(lines.last?.contains("Bearer at-2") == true)
    }
  }

  @Test("a stopped daemon gives an error that names its socket")
  func stopped() throws {
    let path = FakeDaemon.freshPath()
    defer { FakeDaemon.removeFolder(of: path) }
    let end = try helper(["terraform", "get", "app.example"], socket: path)
    expect(
      end, 1,
      errors:
        "usher-helper terraform: the socket \(path) does not exist; to start usherd, run: "
        + "systemctl start usherd.socket\n")
  }

  @Test("a daemon that does not answer gives an error at the deadline")
  func silent() async throws {
    try await FakeDaemon.run { peer in
      _ = try await peer.nextOfAny()
      _ = try await peer.nextOfAny()
    } _: { daemon in
      let end = try helper(["terraform", "get", "app.example"], socket: daemon.path, seconds: 1)
      expect(end, 1, errors: "usher-helper terraform: usherd did not answer in time\n")
    }
  }

  @Test("a reply without an end is refused when it is too long")
  func endless() async throws {
    let part = String(repeating: "a", count: TokenQuestion.maxReplyBytes + 1)
    try await FakeDaemon.run { peer in
      _ = try await peer.nextOfAny()
      try await peer.write(part + part)
      _ = try await peer.nextOfAny()
    } _: { daemon in
      let end = try helper(["terraform", "get", "app.example"], socket: daemon.path)
      expect(end, 1, errors: "usher-helper terraform: the reply of usherd cannot be read\n")
    }
  }

  @Test("a daemon that hangs up gives an error")
  func lost() async throws {
    try await FakeDaemon.run { peer in
      _ = try await peer.nextOfAny()
    } _: { daemon in
      let end = try helper(["terraform", "get", "app.example"], socket: daemon.path)
      expect(
        end, 1, errors: "usher-helper terraform: usherd closed the connection before it answered\n")
    }
  }

  @Test("input that is too large is refused without a call")
  func largeInput() throws {
    let path = FakeDaemon.freshPath()
    defer { FakeDaemon.removeFolder(of: path) }
    let input = String(repeating: "a", count: ToolInput.maxBytes + 65_536)
    let end = try helper(["bazel", "get"], socket: path, input: input)
    expect(end, 1, errors: "usher-helper bazel: the input is too large\n")
  }

  @Test("a file gets no entry of netrc")
  func netrcFile() throws {
    let path = FakeDaemon.freshPath()
    defer { FakeDaemon.removeFolder(of: path) }
    let end = try helper(["netrc", "api.example"], socket: path)
    #expect(end.output.isEmpty && end.status == 1)
    #expect(end.errors.contains("only to a pipe"))
  }

  @Test("a helper without a known name prints the names")
  func help() throws {
    let asked = try helper(["--help"], socket: "/x")
    expect(asked, 0, Tool.usage)
    let unknown = try helper(["aws"], socket: "/x")
    expect(unknown, 64, errors: Tool.usage)
    let version = try helper(["--version"], socket: "/x")
    expect(version, 0, "\(HelperVersion.current)\n")
  }
}
