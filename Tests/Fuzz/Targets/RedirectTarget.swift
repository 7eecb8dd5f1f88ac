import UsherCore
import UsherFlows

extension FuzzTarget {
  /// The query of a redirect is read in the same way by the listener and from a pasted URL; what is
  /// accepted has the flow's state exactly once; and no message shows the state.
  static let redirect = FuzzTarget("redirect", words: ["UsherFlows/OIDC"]) { input in
    let query = input.text
    let state = "state-secret-81c5"
    for isKnownByPath in [false, true] {
      var form = RedirectForm.oauth
      form.isKnownByPath = isKnownByPath
      let result = RedirectParseResult(query: query, state: Secret(state), form: form)
      try checkResult(result, query, state, form)
      // A fragment and white space around a pasted URL are ignored.
      guard !query.contains("#"), query.last?.isWhitespace != true else { continue }
      let uri = "http://127.0.0.1:8400/callback"
      let pasted = RedirectParseResult(
        pasted: Secret("\(uri)?\(query)"), redirectURI: uri, state: Secret(state), form: form)
      try require(pasted == result, "a pasted URL is read differently: \(pasted), not \(result)")
    }
  }
}

private func checkResult(
  _ result: RedirectParseResult, _ query: String, _ state: String, _ form: RedirectForm
) throws {
  let found = RedirectParseResult.state(in: query)?.revealed()
  switch result {
  case .accepted(let response):
    let fields = FormEncoding.decode(query) ?? []
    try require(form.isKnownByPath || found == state, "a redirect without the state is accepted")
    for (name, value) in [
      ("code", response.code?.revealed()), ("iss", response.iss),
    ] {
      let values = fields.filter { $0.name == name }.map(\.value)
      try require(values == (value.map { [$0] } ?? []), "\(name) is \(values)")
    }
    try requireShowable(response.error, "the error")
    try requireShowable(response.errorDescription, "the description")
    try require(response.error?.unicodeScalars.count ?? 0 <= 100, "the error is too long")
    let again = FormEncoding.decode(FormEncoding.encode(fields))
    try require(
      again?.map { [$0.name, $0.value] } == fields.map { [$0.name, $0.value] },
      "other fields after encoding")
  case .unrelated:
    try require(found != state, "the redirect of the flow is unrelated to it")
  case .refused(let message):
    try requireShowable(message, without: [state], "the refusal")
  }
}
