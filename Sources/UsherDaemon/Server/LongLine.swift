import JSONRPC
import NIOCore
import UsherCore

/// A line that is kept beyond the slice in which it came: it is too long to be read on the event loop, or
/// has many calls.
final class LongLine: Sendable {
  /// A line of up to so many bytes is read on the event loop, in well under a millisecond.
  static let longestOnLoop = 16_384

  let bytes: [UInt8]

  init(_ line: UnsafeRawBufferPointer) { bytes = Array(line) }

  /// - Parameter line: No one else's: it is overwritten at the end.
  init(_ line: [UInt8]) { bytes = line }

  // It may have had a secret in it.
  deinit { bytes.withUnsafeBytes { $0.wipe() } }

  /// The scanned line with its decoded calls.
  struct Content: Sendable {
    let scanned: Scanned
    /// The calls of the line, in their order.
    let calls: [DecodedCall]
    /// The processor time that it took.
    let cost: TimeAmount
  }

  /// Scans the line and decodes the parameters of its calls; on any thread.
  func read(_ scanner: Scanner, _ service: RPCService, _ caller: Caller) -> Content {
    let begun = ProcessorTime.ofThread()
    let (scanned, calls) = bytes.withUnsafeBytes { line in
      let scanned = scanner.scan(line)
      return (scanned, scanned.elements.map { DecodedCall($0, line, service, caller) })
    }
    return Content(
      scanned: scanned, calls: calls, cost: ProcessorTime.ofThread() - begun)
  }
}

/// A call whose parameters have been decoded already, or why they were not.
struct DecodedCall: Sendable {
  let params: Result<DecodedParams, UsherError>

  fileprivate init(
    _ element: Scanned.Element, _ line: UnsafeRawBufferPointer, _ service: RPCService,
    _ caller: Caller
  ) {
    switch element {
    case .call(let envelope):
      params = Result { () throws(UsherError) in
        try service.decode(
          envelope.paramsBytes(in: line), of: envelope.method(in: line), caller)
      }
    case .refused(let refusal): params = .failure(UsherError(refusal))
    }
  }
}

extension Scanned {
  /// Its calls, and what stands in the place of one.
  fileprivate var elements: [Element] {
    switch self {
    case .call(let envelope): [.call(envelope)]
    case .batch(let elements): elements
    case .refused, .looksLikeHTTP: []
    }
  }
}
