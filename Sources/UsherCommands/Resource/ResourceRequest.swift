import UsherClient
import UsherConfig

/// Sends a request without credentials to a protected resource: by curl, with the network rights,
/// proxy and certificate authorities of the person who runs usherctl.
///
/// The daemon fetches no address that a caller chooses, because it can reach networks that the
/// caller cannot.
struct ResourceRequest {
  /// The time limit of a request.
  static let limit = Duration.seconds(15)

  let tools: any Tools

  struct Reply {
    var status: Int
    /// The values of the header `WWW-Authenticate`, separated by commas (RFC 9110 §5.3).
    var challenge: String?
    var body: [UInt8]
    /// Why curl failed; empty if it did not.
    var failure: String
  }

  /// Fetches a URL. Redirects are not followed.
  ///
  /// - Throws: ``CommandFailure`` if curl is not installed, or its output is too long.
  func get(_ url: ProviderURL, keepsBody: Bool = true) async throws -> Reply {
    let curl = try tools.find("curl")
    let ending = try await tools.run(
      curl, arguments(url, keepsBody), input: Secret(""), within: Self.limit + .seconds(5))
    let lines = ending.errors.split(
      separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
    guard lines.count == 3, let status = Int(lines[0]) else {
      throw CommandFailure("curl failed: \(ending.errorSummary)")
    }
    let headers = try? JSONValue(parsing: String(lines[2]))
    let challenges = headers?["www-authenticate"]?.arrayValue?.compactMap(\.stringValue) ?? []
    return Reply(
      status: status, challenge: challenges.isEmpty ? nil : challenges.joined(separator: ", "),
      body: ending.output,
      failure: ending.status == 0 ? "" : lines[1].isEmpty ? "it failed" : String(lines[1]))
  }

  private func arguments(_ url: ProviderURL, _ keepsBody: Bool) -> [String] {
    let direct = url.isSecure ? [] : ["--noproxy", "*"]
    return [
      "--disable", "--silent", "--globoff", "--tlsv1.2", "--proto",
      url.isSecure ? "=https" : "=http", "--max-time", "15", "--header",
      "Accept: application/json", "--output", keepsBody ? "-" : "/dev/null", "--write-out",
      "%{stderr}%{http_code}\n%{errormsg}\n%{header_json}",
    ] + direct + ["--url", url.text]
  }
}
