import JSONRPC

extension SandboxUnderTest {
  /// Holds the requests that come at an endpoint, `*` for each, until ``release()``.
  ///
  /// - Parameter times: How many are held; nil: all.
  package func hold(_ endpoint: String, grantType: String? = nil, times: Int64? = nil) throws {
    var rule: JSONValue = ["endpoint": .string(endpoint), "fault": ["held": true]]
    if let grantType { rule["grantType"] = .string(grantType) }
    if let times { rule["times"] = .integer(times) }
    try control("POST", "faults", rule)
  }

  /// Removes all faults. The requests that were held are answered now.
  package func release() throws { try control("DELETE", "faults") }
}
