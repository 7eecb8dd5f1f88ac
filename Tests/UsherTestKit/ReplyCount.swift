package import JSONRPC

extension Scanned {
  /// How many lines answer the line that was scanned: one, or none where it is of notifications only.
  package var replyCount: Int {
    switch self {
    case .call(let call): call.kind == .request ? 1 : 0
    case .batch(let elements): BatchCollector(elements).expectsNothing ? 0 : 1
    case .refused, .looksLikeHTTP: 1
    }
  }
}
