/// The reason why a line, or an element of a batch, is not a valid message. On the server it gets
/// one error reply.
///
/// The refusal contains only offsets, and allocates only in ``message`` and ``id(in:)``.
package struct Refusal: Error, Sendable, Hashable {
  package let reason: Reason
  /// The offset of the error in bytes from the beginning of the line.
  package let offset: Int
  /// The id of the refused call; nil if it could not be read.
  private let idToken: Token?

  package enum Reason: Sendable, Hashable {
    case syntax(JSONSyntaxError.Problem)
    /// The value of the line is neither an object nor a batch.
    case notAMessage
    case emptyBatch
    case batchTooLarge
    /// The member `jsonrpc` is missing or not "2.0".
    case version
    case noMethod
    case methodNotAString
    case paramsNotStructured
    case idOfWrongType
    /// The id has more than ``RequestID/maxBytes`` bytes.
    case idTooLong
    /// A message from a server has no id, or does not have exactly one of `result` and `error`.
    case notAResponse
    /// The `error` of a message from a server has no integer `code` or no string `message`.
    case malformedError
  }

  init(_ reason: Reason, at offset: Int, id: Token? = nil) {
    self.reason = reason
    self.offset = offset
    idToken = id
  }

  init(_ error: JSONSyntaxError) { self.init(.syntax(error.problem), at: error.offset) }

  /// The JSON-RPC error code: -32700 for a text that is not accepted as JSON, otherwise -32600
  /// (JSON-RPC 2.0 § 5.1).
  package var code: Int {
    switch reason {
    case .syntax: -32700
    case .notAMessage, .emptyBatch, .batchTooLarge, .version, .noMethod, .methodNotAString,
      .paramsNotStructured, .idOfWrongType, .idTooLong, .notAResponse, .malformedError:
      -32600
    }
  }

  /// The limit that the line exceeds; nil if the refusal has another cause.
  package var limit: JSONLimits.Name? {
    switch reason {
    case .syntax(let problem): problem.limit
    case .batchTooLarge: .batch
    case .notAMessage, .emptyBatch, .version, .noMethod, .methodNotAString, .paramsNotStructured,
      .idOfWrongType, .idTooLong, .notAResponse, .malformedError:
      nil
    }
  }

  /// The refusal as a sentence for people, such as `the method is missing at byte 0`. It quotes
  /// nothing of the line.
  package var message: String { "\(reason.sentence) at byte \(offset)" }

  /// The bytes of the id that the error reply echoes; `null` if the id could not be read.
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
    case .notAMessage: "a call must be an object"
    case .emptyBatch: "the batch is empty"
    case .batchTooLarge: "the batch has too many calls"
    case .version: "jsonrpc is not \"2.0\""
    case .noMethod: "the method is missing"
    case .methodNotAString: "the method is not a string"
    case .paramsNotStructured: "params is neither an object nor an array"
    case .idOfWrongType: "the id is neither a string nor a number nor null"
    case .idTooLong: "the id has more than \(RequestID.maxBytes) bytes"
    case .notAResponse: "a response must have an id and either a result or an error"
    case .malformedError: "an error must have an integer code and a string message"
    }
  }
}

extension UnsafeRawBufferPointer {
  /// The bytes of `null`, in memory that is never freed.
  static var jsonNull: UnsafeRawBufferPointer {
    let text: StaticString = "null"
    return UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }
}
