/// What a line is.
package enum Scanned: Sendable, Hashable {
  case call(Envelope)
  /// At least one element; the replies go through a ``BatchCollector``.
  case batch([Element])
  /// The whole line gets one error reply.
  case refused(Refusal)
  /// Begins like an HTTP request: somebody took this socket for a web server.
  case looksLikeHTTP

  package enum Element: Sendable, Hashable {
    case call(Envelope)
    /// This element gets an error reply; its neighbours run.
    case refused(Refusal)
  }
}

/// Reads one line as JSON-RPC 2.0 in one pass, without allocation unless it is a batch, an object
/// has more than sixteen members or a name is escaped.
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
/// The whole line is checked, also what nobody will look at: RFC 8259's grammar, valid UTF-8
/// without a byte order mark, whole surrogate pairs, no member twice in an object, the nesting. A
/// syntax error anywhere in a line refuses all of it, in a batch too. A blank line is refused as
/// one (-32700): a peer that sends one has lost its place. Unknown members of the envelope are
/// ignored, since the specification does not forbid them.
package struct Scanner: Sendable {
  private let nesting: Int
  private let batchLimit: Int

  package init(limits: JSONLimits = JSONLimits()) {
    nesting = limits.nesting
    batchLimit = limits.batch
  }

  /// - Parameter line: Without its `\n`. The result holds offsets into it.
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
    try reader.enter()
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
  /// None of these can begin JSON, so only a line already refused is looked at.
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
