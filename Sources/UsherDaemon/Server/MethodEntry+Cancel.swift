import JSONRPC
import UsherAPI
import UsherCore

extension MethodEntry {
  /// The entry of `rpc.cancel`. Every caller may call this method, so its parameter is read
  /// directly from the line and never decoded.
  static let cancel = MethodEntry(
    type: RPCCancel.self, worksLocked: true, refuse: { _, _, _ in },
    decode: { params, _ throws(UsherError) in try RequestID(cancelled: params) },
    run: { params, call, _ throws(UsherError) in
      guard let id = params as? RequestID else {
        throw UsherError(.internalError, "the parameters of rpc.cancel are of another method")
      }
      call.connection.cancel(id)
      return try .now(Done())
    })
}

extension RequestID {
  /// Creates the id from the parameters of `rpc.cancel`.
  ///
  /// - Throws: `invalidParams` with the field at fault, as for any method.
  fileprivate init(cancelled params: UnsafeRawBufferPointer?) throws(UsherError) {
    let range: Range<Int>
    switch params.map({ MemberSearch.only("id", in: $0) }) ?? .missing {
    case .found(let found): range = found
    case .missing: throw Self.wrong("id", "is missing")
    case .unexpected(let name): throw Self.wrong(name, "is not a parameter")
    case .notAnObject:
      throw Self.wrong("params", "must be an object: parameters are passed by name")
    }
    guard range.count <= RequestID.maxBytes else {
      throw Self.wrong("id", "must have at most \(RequestID.maxBytes) bytes")
    }
    guard let params, let id = RequestID(value: UnsafeRawBufferPointer(rebasing: params[range]))
    else { throw .wrongType("id", "a string or a number") }
    self = id
  }

  private static func wrong(_ field: String, _ what: String) -> UsherError {
    UsherError(.invalidParams, "\(field) \(what)", field: field)
  }
}
