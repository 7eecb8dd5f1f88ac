import JSONRPC

extension SandboxUnderTest {
  /// Holds the requests for an endpoint until ``release()``; `*` means every endpoint.
  ///
  /// - Parameter times: The number of requests to hold; nil means all.
  package func hold(_ endpoint: String, grantType: String? = nil, times: Int64? = nil) throws {
    var rule: JSONValue = ["endpoint": .string(endpoint), "fault": ["held": true]]
    if let grantType { rule["grantType"] = .string(grantType) }
    if let times { rule["times"] = .integer(times) }
    try control("POST", "faults", rule)
  }

  /// Removes all faults. The held requests are then answered.
  package func release() throws { try control("DELETE", "faults") }
}
