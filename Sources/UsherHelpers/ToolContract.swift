/// How a tool asks a program for credentials: what it passes, and what it reads as the answer.
///
/// A contract is pure. It takes arguments, variables and standard input, and returns what to ask
/// usherd and what to print. It never opens a page and never asks the user.
package protocol ToolContract: Sendable {
  /// The environment variables that the contract reads.
  static var variables: [String] { get }

  /// The output that the tool gets before its first input is read.
  static var greeting: String { get }

  /// What the contract reads from standard input.
  static func input(_ arguments: [String]) -> ToolInput

  /// Returns the first step of a call.
  static func step(_ call: ToolCall) -> ToolStep

  /// Returns the reply to the tool if usherd has issued a token.
  ///
  /// - Throws: ``TokenFailure`` if the token cannot be written in the tool's format.
  static func reply(_ call: ToolCall, _ token: IssuedToken) throws(TokenFailure) -> ToolReply

  /// Returns the reply to the tool if there is no token.
  static func reply(_ call: ToolCall, failure: TokenFailure) -> ToolReply
}

extension ToolContract {
  package static var variables: [String] { [] }
  package static var greeting: String { "" }
  package static func input(_ arguments: [String]) -> ToolInput { .none }

  package static func reply(_ call: ToolCall, failure: TokenFailure) -> ToolReply {
    .failed(failure.line)
  }

  /// Returns the reply to the tool after usherd has answered, or failed to.
  package static func reply(
    _ call: ToolCall, to answer: Result<IssuedToken, TokenFailure>
  ) -> ToolReply {
    do throws(TokenFailure) {
      return try reply(call, try answer.get())
    } catch {
      return reply(call, failure: error)
    }
  }
}

/// What a contract reads from standard input.
package enum ToolInput: Sendable, Equatable {
  case none
  /// Everything up to the end.
  case document
  /// Everything up to a blank line or the end.
  case block
  /// As ``block``, but nothing if standard input is a terminal: the tool may pass no input.
  case optionalBlock
  /// Lines, each of which is a call of its own, until the end.
  case lines

  /// The maximum number of bytes of a document, block or line. Longer input is refused.
  package static let maxBytes = 1 << 20
}

/// One call of a contract.
package struct ToolCall: Sendable, Equatable {
  /// The arguments after the name of the contract.
  package var arguments: [String]
  /// The variables among ``ToolContract/variables`` that are set.
  package var environment: [String: String]
  package var input: [UInt8]
  /// Whether standard output is a pipe, and not a file or a terminal.
  package var isOutputPipe: Bool

  package init(
    arguments: [String], environment: [String: String] = [:], input: [UInt8] = [],
    isOutputPipe: Bool = true
  ) {
    self.arguments = arguments
    self.environment = environment
    self.input = input
    self.isOutputPipe = isOutputPipe
  }
}

/// The first step of a call.
package enum ToolStep: Sendable, Equatable {
  /// The tool gets this reply; usherd is not called.
  case reply(ToolReply)
  /// usherd is called once; ``ToolContract/reply(_:to:)`` turns its answer into the reply.
  case ask(TokenQuestion)
}

/// What the tool gets.
package struct ToolReply: Sendable, Equatable {
  /// Standard output. It may contain the token.
  package var output = ""
  /// A line for people on standard error, without the program's name; nil: nothing is written.
  package var message: String?
  package var status: Int32 = 0

  /// The reply of a contract that has nothing to say.
  package static let nothing = ToolReply()

  package init(output: String = "", message: String? = nil, status: Int32 = 0) {
    self.output = output
    self.message = message
    self.status = status
  }

  package static func printed(_ output: String) -> ToolReply { ToolReply(output: output) }

  /// The refusal of a tool that wants to store a password.
  static let storesNothing =
    "usherd stores no passwords; to sign in, run: usherctl login PROVIDER"
  /// The refusal of a tool that wants to delete a password.
  static let keepsSignIn =
    "usherd keeps the sign-in; to end it, run: usherctl account forget ACCOUNT"

  package static func failed(_ message: String) -> ToolReply {
    ToolReply(message: message, status: 1)
  }
}
