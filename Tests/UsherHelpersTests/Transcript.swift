import Testing
import UsherHelpers

/// One call of a tool: what the helper gets, what it asks usherd, and what the tool gets.
struct Transcript: Sendable, CustomTestStringConvertible {
  var title: String
  /// The name by which the program is started, and its arguments, with spaces between them.
  var command: String
  var environment: [String: String] = [:]
  var input: [UInt8] = []
  var isOutputPipe = true
  /// What usherd answers.
  var daemon = Daemon.token()
  /// The members `params` of the call to usherd; nil: it is not called.
  var asks: String?
  var output = ""
  var message: String?
  var status: Int32 = 0

  var testDescription: String { title }

  init(
    _ title: String, _ command: String, environment: [String: String] = [:], input: String = "",
    isOutputPipe: Bool = true, daemon: Daemon = .token(), asks: String? = nil, output: String = "",
    message: String? = nil, status: Int32 = 0
  ) {
    self.title = title
    self.command = command
    self.environment = environment
    self.input = Array(input.utf8)
    self.isOutputPipe = isOutputPipe
    self.daemon = daemon
    self.asks = asks
    self.output = output
    self.message = message
    self.status = status
  }

  /// Checks that the helper does all of this.
  func check() throws {
    let words = command.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
    let (tool, arguments) = try #require(Tool.find(words))
    let call = ToolCall(
      arguments: arguments, environment: environment, input: input, isOutputPipe: isOutputPipe)
    let reply: ToolReply
    switch tool.contract.step(call) {
    case .reply(let early):
      #expect(asks == nil)
      reply = early
    case .ask(let question):
      let line = String(decoding: question.line, as: UTF8.self)
      let params = asks ?? "no call"
      #expect(
        line == #"{"jsonrpc":"2.0","id":1,"method":"token.forTarget","params":\#(params)}"# + "\n")
      reply = tool.contract.reply(call, to: daemon.answer(to: question))
    }
    #expect(reply.output == output)
    #expect(reply.message == message)
    #expect(reply.status == status)
  }
}

/// What usherd answers to `token.forTarget`.
enum Daemon: Sendable {
  /// This line, without its `\n`.
  case line(String)
  case failure(TokenFailure)

  func answer(to question: TokenQuestion) -> Result<IssuedToken, TokenFailure> {
    switch self {
    case .line(let line): question.answer(in: Array(line.utf8))
    case .failure(let failure): .failure(failure)
    }
  }

  static func result(_ members: String) -> Daemon {
    .line(#"{"jsonrpc":"2.0","id":1,"result":{\#(members)}}"#)
  }

  /// A reply with a token.
  ///
  /// - Parameters:
  ///   - expiresAt: The expiry as JSON.
  ///   - more: Further members, each with a comma before it.
  static func token(
    _ token: String = "at-1", member: String = "accessToken", type: String = "Bearer",
    expiresAt: String = #""2026-11-22T10:00:00Z""#, more: String = ""
  ) -> Daemon {
    result(
      #""\#(member)":"\#(token)","tokenType":"\#(type)","expiresAt":\#(expiresAt),"#
        + #""scope":"a","account":"acc_1","match":"m"\#(more)"#)
  }

  static func idToken(_ token: String = "id-1") -> Daemon {
    self.token(token, member: "idToken", type: "N_A")
  }

  static func error(_ code: Int, _ reason: String, _ message: String, more: String = "") -> Daemon {
    .line(
      #"{"jsonrpc":"2.0","id":1,"error":{"code":\#(code),"message":"\#(message)","data":"#
        + #"{"reason":"\#(reason)","retryable":false,"correlationId":"c"\#(more)}}}"#)
  }

  private static func next(_ params: String) -> String {
    #","next":{"method":"flow.start","params":{"provider":"work","kind":"authorize","#
      + #""params":\#(params)}}"#
  }

  // The situations that every tool meets.
  static let noGrant = error(
    1101, "interaction_required", "there is no account at work", more: next("{}"))
  static let deadGrant = error(
    1102, "reauthentication_required", "the grant is dead", more: next(#"{"account":"acc_1"}"#))
  static let denied = error(-32001, "permission_denied", "no rule allows token.forTarget")
  static let noTarget = error(1004, "no_target", Line.noTarget)
  static let down = Daemon.failure(.unavailable("no process listens on /s"))
  static let slow = Daemon.failure(.unavailable("usherd did not answer in time"))
}

/// The lines for people in the situations that every tool meets.
enum Line {
  static let noTarget = "no target answers; the lines to copy: usherctl target test"
  static let noGrant = "there is no account at work; run: usherctl login work"
  static let deadGrant = "the grant is dead; run: usherctl login work --account acc_1"
  static let denied = "no rule allows token.forTarget"
  static let down = "no process listens on /s"
  static let slow = "usherd did not answer in time"
}

/// The situations in which a tool gets no token although usherd may have a target for it.
let refusals: [(name: String, daemon: Daemon, line: String)] = [
  ("no grant", .noGrant, Line.noGrant), ("a dead grant", .deadGrant, Line.deadGrant),
  ("a policy that denies", .denied, Line.denied), ("a stopped daemon", .down, Line.down),
  ("a slow daemon", .slow, Line.slow),
]
