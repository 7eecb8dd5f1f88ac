import JSONRPC
import UsherAPI
import UsherConfig
import UsherCore

// Denials before a call's parameters are decoded, so that a caller without rights costs little.
extension Services {
  /// Refuses a call that the access rules deny by its method, or by the provider, kind and
  /// operation in its parameters. ``authorize(_:about:_:)`` decides about all other calls.
  ///
  /// - Parameter params: The JSON text of the parameters; nil if the call has none.
  func refuseEarly<M: Method>(
    _ call: M.Type, _ params: UnsafeRawBufferPointer?, _ caller: Caller
  ) throws(UsherError) {
    if caller.isAdmin { return }
    let named = PolicyRequest(M.self)
    var denial = caller.policy.denial(partial: named)
    if denial == nil, !caller.policy.choosesCalls { return }
    let request = params.map { M.subject.request(in: $0) } ?? named
    if denial == nil { denial = caller.policy.denial(partial: request) }
    guard let denial else { return }
    throw audit.denied(denial, request, caller)
  }
}

extension Subject where M: Method {
  /// Returns the request for the access policy, as far as it can be read from the JSON text of the
  /// parameters. An unreadable member is left out, because decoding will refuse it later.
  fileprivate func request(in params: UnsafeRawBufferPointer) -> PolicyRequest {
    var request = PolicyRequest(M.self)
    switch self {
    case .method, .flow, .owner: break
    case .provider:
      request.provider = MemberSearch.find(["provider"], in: params)[0]?.text
    case .target, .tokenForTarget:
      let found = MemberSearch.find(["kind", "name"], in: params)
      if let kind = found[0]?.text, let name = found[1]?.text {
        request.target = try? TargetName(kind: kind, name: name)
      }
    case .account, .oneAccount, .oneAccountWithCodes, .token:
      let found = MemberSearch.find(["account", "provider"], in: params)
      request.named = found[0]?.text
      // If the call names an account, the account determines the provider.
      if found[0] == nil { request.provider = found[1]?.text }
    case .start:
      let found = MemberSearch.find(["provider", "kind", "params"], in: params)
      request.provider = found[0]?.text
      request.kind = found[1]?.text
      guard case .other(let range)? = found[2] else { break }
      let inner = MemberSearch.find(
        ["account", "method", "path"], in: UnsafeRawBufferPointer(rebasing: params[range]))
      request.named = inner[0]?.text
      if let method = inner[1]?.text, let path = inner[2]?.text {
        request.operation = FlowStart.operation(method: method, path: path)
      }
    }
    return request
  }
}

extension MemberSearch.Found {
  fileprivate var text: String? {
    switch self {
    case .text(let text): text
    case .other: nil
    }
  }
}
