/// The result of scanning a line.
package enum Scanned: Sendable, Hashable {
  case call(Envelope)
  /// A batch of at least one element. ``BatchCollector`` collects the replies to its calls.
  case batch([Element])
  /// The whole line is refused with one error reply.
  case refused(Refusal)
  /// The line begins like an HTTP request.
  case looksLikeHTTP

  package enum Element: Sendable, Hashable {
    case call(Envelope)
    /// This element is refused with an error reply; the other elements are executed.
    case refused(Refusal)
  }
}

/// Scans a line as JSON-RPC 2.0 in one pass. It allocates only for a batch, for an object with more
/// than sixteen members, and for escaped names.
///
/// ```swift
/// switch scanner.scan(line) {
/// case .call(let call):
///   guard let handler = table[call.method(in: line)] else { … }
///   let params = call.paramsBytes(in: line)
///   if let id = call.idBytes(in: line) { reply.appendResult(body, id: id) }
/// case .batch(let elements):
///   var batch = BatchCollector(elements)         // fill(index, with: reply) as replies come
/// case .refused(let refusal):
///   reply.appendError(
///     code: refusal.code, message: refusal.message, id: refusal.idBytes(in: line))
/// case .looksLikeHTTP: …
/// }
/// ```
///
/// The whole line is checked, including values that are not used: the grammar of RFC 8259, valid
/// UTF-8 without a byte order mark, complete surrogate pairs, no duplicate members, the nesting. A
/// syntax error anywhere in a line refuses the whole line, even in a batch. A blank line is a
/// syntax error (-32700). Unknown members of the envelope are ignored, because the specification
/// does not forbid them.
package struct Scanner: Sendable {
  private let nesting: Int
  private let batchLimit: Int

  package init(limits: JSONLimits = JSONLimits()) {
    nesting = limits.nesting
    batchLimit = limits.batch
  }

  /// Scans a line.
  ///
  /// - Parameter line: The line without its `\n`. The result contains offsets into the line.
  package func scan(_ line: UnsafeRawBufferPointer) -> Scanned {
    do {
      var reader = try Reader(line, nesting: nesting)
      let scanned = try message(&reader)
      try reader.finish()
      return scanned
    } catch {
      return line.looksLikeHTTP ? .looksLikeHTTP : .refused(Refusal(error))
    }
  }

  package func scan(_ line: [UInt8]) -> Scanned { line.withUnsafeBytes { scan($0) } }

  private func message(_ reader: inout Reader) throws(JSONSyntaxError) -> Scanned {
    switch reader.current {
    case UInt8(ascii: "{"):
      switch try element(&reader) {
      case .call(let call): return .call(call)
      case .refused(let refusal): return .refused(refusal)
      }
    case UInt8(ascii: "["): return try batch(&reader)
    default:
      let start = reader.at
      _ = try reader.value()
      return .refused(Refusal(.notAMessage, at: start))
    }
  }

  private func batch(_ reader: inout Reader) throws(JSONSyntaxError) -> Scanned {
    let start = reader.at
    try reader.enterContainer()
    var elements: [Scanned.Element] = []
    var isFirst = true
    var isTooLarge = false
    while try reader.nextElement(&isFirst) {
      if elements.count < batchLimit {
        elements.append(try element(&reader))
      } else {
        isTooLarge = true
        _ = try reader.value()
      }
    }
    if isTooLarge { return .refused(Refusal(.batchTooLarge, at: start)) }
    return elements.isEmpty ? .refused(Refusal(.emptyBatch, at: start)) : .batch(elements)
  }

  private func element(_ reader: inout Reader) throws(JSONSyntaxError) -> Scanned.Element {
    guard reader.current == UInt8(ascii: "{") else {
      let start = reader.at
      _ = try reader.value()
      return .refused(Refusal(.notAMessage, at: start))
    }
    let members = try MessageMembers(&reader)
    do throws(Refusal) {
      return .call(try Envelope(members, in: reader.bytes))
    } catch {
      return .refused(error)
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the line begins like an HTTP request. JSON never begins like that, so only lines that
  /// were refused need this check.
  fileprivate var looksLikeHTTP: Bool {
    let methods: [StaticString] = [
      "GET ", "POST ", "PUT ", "HEAD ", "OPTIONS ", "DELETE ", "PATCH ", "CONNECT ", "TRACE ",
      "PRI * HTTP/2",
    ]
    return methods.contains { method in
      starts(with: UnsafeBufferPointer(start: method.utf8Start, count: method.utf8CodeUnitCount))
    }
  }
}
