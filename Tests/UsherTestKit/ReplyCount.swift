package import JSONRPC

extension Scanned {
  /// The number of lines that reply to the scanned line: 1, or 0 if it contains only notifications.
  package var replyCount: Int {
    switch self {
    case .call(let call): call.kind == .request ? 1 : 0
    case .batch(let elements): BatchCollector(elements).isComplete ? 0 : 1
    case .refused, .looksLikeHTTP: 1
    }
  }
}
