import JSONRPC
import UsherHelpers

extension FuzzTarget {
  /// Whatever a tool and the daemon send, a helper asks for a name without control characters, and
  /// prints the lines of its contract and no others.
  ///
  /// The first line of the input is the helper's name and arguments, the second one is the reply of
  /// the daemon, and the rest is what the tool sends.
  static let helper = FuzzTarget("helper", words: ["UsherHelpers"]) { input in
    let lines = input.lines
    guard lines.count > 2 else { return }
    let words = lines[0].text.split(separator: " ").map(String.init)
    guard let (tool, arguments) = Tool.find(["usher-helper"] + words) else { return }
    let rest = Array(lines[2...].joined(separator: [UInt8(ascii: "\n")]))
    let variables = tool.contract.variables.map { ($0, rest.text) }
    let call = ToolCall(
      arguments: arguments, environment: Dictionary(variables) { $1 }, input: rest)
    let reply: ToolReply
    switch tool.contract.step(call) {
    case .reply(let early): reply = early
    case .ask(let question):
      try require(
        !question.name.utf8.contains(where: isControl), "the name has a control character")
      try require(
        Scanner().scan(question.line.dropLast().map(\.self)).isCall, "the call is not JSON-RPC")
      reply = tool.contract.reply(call, to: question.answer(in: lines[1]))
    }
    try requireShowable(reply.message, "the message of \(tool.name)")
    try requireForm(of: reply.output, tool.name)
  }

  /// Checks that the output has the lines that the tool expects.
  private static func requireForm(of output: String, _ name: String) throws(PropertyViolation) {
    guard !output.isEmpty else { return }
    try require(output.hasSuffix("\n"), "the output of \(name) has no end")
    let lines = Array(output.utf8).dropLast().split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    try require(
      !lines.joined().contains(where: isControl), "the output of \(name) has a control character")
    switch name {
    case "git":
      let keys = [
        "version 0", "capability authtype", "quit", "username", "password", "password_expiry_utc",
        "capability[]", "authtype", "credential", "ephemeral",
      ]
      let found = lines.map { Array($0.prefix { $0 != UInt8(ascii: "=") }).text }
      try require(
        found.allSatisfy(keys.contains) && Set(found).count == found.count, "git gets other lines")
    case "go": try require(lines.count == 4, "go gets \(lines.count) lines")
    case "keyring": try require(lines.count <= 2, "keyring prints \(lines.count) lines")
    case "bazel", "cargo", "gcloud", "kubectl", "terraform":
      let value = try? JSONValue(parsing: Array(output.utf8))
      try require(lines.count == 1 && value?.objectValue != nil, "\(name) gets no object")
    default: try require(lines.count == 1, "\(name) gets \(lines.count) lines")
    }
  }

  @Sendable private static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }
}

extension Scanned {
  fileprivate var isCall: Bool {
    if case .call = self { true } else { false }
  }
}
