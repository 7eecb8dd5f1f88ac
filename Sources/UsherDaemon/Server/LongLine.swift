import JSONRPC
import NIOCore
import UsherCore
import UsherTransport

/// A line that is stored beyond the time slice in which it was read, because it is too long to be
/// parsed on the event loop or contains many calls.
final class LongLine: Sendable {
  /// The maximum length in bytes of a line that is parsed on the event loop. Parsing takes well
  /// under a millisecond.
  static let maxBytesOnLoop = 16_384

  let bytes: [UInt8]

  init(_ line: UnsafeRawBufferPointer) { bytes = Array(line) }

  /// - Parameter line: A buffer to which no other variable refers, because the bytes are
  ///   overwritten at the end.
  init(_ line: [UInt8]) { bytes = line }

  // The bytes are wiped, because the line may contain a secret.
  deinit { bytes.withUnsafeBytes { $0.wipe() } }

  /// The scanned line with its decoded calls.
  struct Content: Sendable {
    let scanned: Scanned
    /// The calls of the line, in order.
    let calls: [DecodedCall]
    /// The processor time that scanning and decoding took, for which the user is charged.
    let cost: TimeAmount
  }

  /// Scans the line and decodes the parameters of its calls. May run on any thread.
  func read(_ scanner: Scanner, _ service: RPCService, _ caller: Caller) -> Content {
    let begun = ProcessorTime.ofThread()
    let (scanned, calls) = bytes.withUnsafeBytes { line in
      let scanned = scanner.scan(line)
      return (scanned, scanned.elements.map { DecodedCall($0, line, service, caller) })
    }
    return Content(scanned: scanned, calls: calls, cost: ProcessorTime.ofThread() - begun)
  }
}

/// A call whose parameters have been decoded, or the error if decoding failed.
struct DecodedCall: Sendable {
  let params: Result<DecodedParams, UsherError>

  fileprivate init(
    _ element: Scanned.Element, _ line: UnsafeRawBufferPointer, _ service: RPCService,
    _ caller: Caller
  ) {
    switch element {
    case .call(let envelope):
      params = Result { () throws(UsherError) in
        try service.decode(envelope.paramsBytes(in: line), of: envelope.method(in: line), caller)
      }
    case .refused(let refusal): params = .failure(UsherError(refusal))
    }
  }
}

extension Scanned {
  /// The calls of a scanned line, including malformed ones.
  fileprivate var elements: [Element] {
    switch self {
    case .call(let envelope): [.call(envelope)]
    case .batch(let elements): elements
    case .refused, .looksLikeHTTP: []
    }
  }
}
