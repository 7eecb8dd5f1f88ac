import JSONRPC
import UsherCore
import UsherTransport

// Batches of JSON-RPC calls. The calls of a batch run one after the other. If the time slice is
// over, the remaining calls run in the connection's next turns, before later lines.
extension ConnectionHandler {
  /// A batch with calls that have not run yet.
  struct UnfinishedBatch {
    fileprivate let number: Int
    fileprivate let elements: [Scanned.Element]
    fileprivate let decoded: [DecodedCall]
    fileprivate let line: LongLine
    /// The index of the next call to run.
    fileprivate var next: Int

    /// The length of the batch's line, in bytes.
    var bytes: Int { line.bytes.count }
  }

  /// Runs the calls of a batch until the time slice is over, and stores the rest in
  /// `unfinishedBatch`.
  ///
  /// - Parameters:
  ///   - decoded: The calls in order, if their parameters have already been decoded; else empty.
  ///   - stored: The line, if it is already stored for later; else nil.
  func run(
    _ elements: [Scanned.Element], _ line: UnsafeRawBufferPointer, _ decoded: [DecodedCall],
    stored: LongLine?
  ) {
    let number = newNumber()
    let collector = BatchCollector(elements)
    if !collector.isComplete { batches[number] = collector }
    for index in elements.indices {
      run(elements[index], decoded.isEmpty ? nil : decoded[index], line, number, index)
      let next = index + 1
      guard isSliceOver(), next < elements.count else { continue }
      unfinishedBatch = UnfinishedBatch(
        number: number, elements: elements, decoded: decoded, line: stored ?? LongLine(line),
        next: next)
      return
    }
  }

  /// Runs the remaining calls of the unfinished batch for one time slice.
  func resumeBatch() {
    guard var batch = unfinishedBatch else { return }
    batch.line.bytes.withUnsafeBytes { line in
      repeat {
        let index = batch.next
        run(
          batch.elements[index], batch.decoded.isEmpty ? nil : batch.decoded[index], line,
          batch.number, index)
        batch.next += 1
      } while batch.next < batch.elements.count && !isSliceOver()
    }
    unfinishedBatch = batch.next < batch.elements.count && !isClosing ? batch : nil
  }

  private func isSliceOver() -> Bool {
    slice.spendCall()
    return slice.isOver
  }

  private func run(
    _ element: Scanned.Element, _ decoded: DecodedCall?, _ line: UnsafeRawBufferPointer,
    _ batch: Int, _ index: Int
  ) {
    let origin = Origin.batch(batch, index)
    switch element {
    case .call(let envelope):
      if refuseIfFull(envelope, line, origin) { return }
      run(envelope, line, origin, decoded)
    case .refused(let refusal):
      send(service.errorReply(UsherError(refusal), refusal.id(in: line), caller.label), origin)
    }
  }

  /// Refuses the remaining calls of the batch, each under its own id, because the daemon stops.
  func refuseBatch() {
    guard let batch = unfinishedBatch else { return }
    unfinishedBatch = nil
    batch.line.bytes.withUnsafeBytes { line in
      for index in batch.next..<batch.elements.count {
        let origin = Origin.batch(batch.number, index)
        switch batch.elements[index] {
        case .call(let envelope): fail(envelope.id(in: line), .stopping, origin)
        case .refused: run(batch.elements[index], nil, line, batch.number, index)
        }
      }
    }
  }
}
