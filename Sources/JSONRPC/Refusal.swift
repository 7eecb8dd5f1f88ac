/// Why a line, or one element of a batch, is not a call. It gets one error reply.
///
/// A value of offsets: it allocates only when asked for its ``message`` or ``id(in:)``.
package struct Refusal: Error, Sendable, Hashable {
  package let reason: Reason
  /// Bytes from the beginning of the line to what was refused.
  package let offset: Int
  /// The id, where it could be read.
  private let idToken: Token?

  package enum Reason: Sendable, Hashable {
    case syntax(JSONSyntaxError.Problem)
    /// Neither an object nor, at the top, an array.
    case notAMessage
    case emptyBatch
    case batchTooLarge
    /// `jsonrpc` is missing or not "2.0".
    case version
    case noMethod
    case methodNotAString
    case paramsNotStructured
    case idOfWrongType
    /// The id has more than ``RequestID/longest`` bytes.
    case idTooLong
    /// In a server's message: not exactly one of `result` and `error`, or no id beside it.
    case notAResponse
    /// In a server's message: an `error` without an integer `code` and a string `message`.
    case malformedError
  }

  init(_ reason: Reason, at offset: Int, id: Token? = nil) {
    self.reason = reason
    self.offset = offset
    idToken = id
  }

  init(_ error: JSONSyntaxError) { self.init(.syntax(error.problem), at: error.offset) }

  /// -32700 for a text that is not JSON (as strict as we are), else -32600. JSON-RPC 2.0 § 5.1.
  package var code: Int {
    switch reason {
    case .syntax: -32700
    case .notAMessage, .emptyBatch, .batchTooLarge, .version, .noMethod, .methodNotAString,
      .paramsNotStructured, .idOfWrongType, .idTooLong, .notAResponse, .malformedError:
      -32600
    }
  }

  /// The limit that was passed, if it was one.
  package var limit: JSONLimits.Name? {
    switch reason {
    case .syntax(let problem): problem.limit
    case .batchTooLarge: .batch
    case .notAMessage, .emptyBatch, .version, .noMethod, .methodNotAString, .paramsNotStructured,
      .idOfWrongType, .idTooLong, .notAResponse, .malformedError:
      nil
    }
  }

  /// A sentence for people, as `the method is missing at byte 0`; quotes nothing of the line.
  package var message: String { "\(reason.sentence) at byte \(offset)" }

  /// The bytes to echo: the id where it could be read, else `null`.
  ///
  /// - Parameter line: The line that was scanned.
  package func idBytes(in line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    idToken.map { line.part($0.range) } ?? .jsonNull
  }

  package func id(in line: UnsafeRawBufferPointer) -> RequestID {
    idToken.map { RequestID($0, in: line) } ?? .null
  }
}

extension Refusal.Reason {
  fileprivate var sentence: String {
    switch self {
    case .syntax(let problem): problem.sentence
    case .notAMessage: "a call is an object"
    case .emptyBatch: "the batch is empty"
    case .batchTooLarge: "the batch has too many calls"
    case .version: "jsonrpc is not \"2.0\""
    case .noMethod: "the method is missing"
    case .methodNotAString: "the method is not a string"
    case .paramsNotStructured: "params is neither an object nor an array"
    case .idOfWrongType: "the id is neither a string nor a number nor null"
    case .idTooLong: "the id has more than \(RequestID.longest) bytes"
    case .notAResponse: "a response has an id and either a result or an error"
    case .malformedError: "an error has an integer code and a string message"
    }
  }
}

extension UnsafeRawBufferPointer {
  /// `null`, in memory that is never freed.
  static var jsonNull: UnsafeRawBufferPointer {
    let text: StaticString = "null"
    return UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }
}
