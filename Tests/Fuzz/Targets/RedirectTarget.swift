import UsherCore
import UsherFlows

extension FuzzTarget {
  /// The query of a redirect, or a posted form, is read in the same way by the listener and from a
  /// pasted URL; what is accepted has the flow's state exactly once, also in a signed answer; and
  /// no message shows the state.
  static let redirect = FuzzTarget("redirect", words: ["UsherFlows/OIDC"]) { input in
    let query = input.text
    let state = "state-secret-81c5"
    for (isKnownByPath, isSigned) in [(false, false), (true, false), (false, true)] {
      var form = RedirectForm.oauth
      (form.isKnownByPath, form.isSigned) = (isKnownByPath, isSigned)
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
  let found = [false, true].compactMap { isSigned in
    isSigned && !form.isSigned
      ? nil : RedirectParseResult.state(in: query, isSigned: isSigned)?.revealed()
  }
  let hasState = found.contains(state)
  switch result {
  case .accepted(let response):
    let fields = FormEncoding.decode(query) ?? []
    try require(form.isKnownByPath || hasState, "a redirect without the state is accepted")
    let named =
      form.isSigned
      ? [("response", response.signed?.revealed())]
      : [("code", response.code?.revealed()), ("iss", response.iss)]
    if form.isSigned {
      let isAlone = response == AuthorizationResponse(signed: response.signed)
      try require(isAlone, "something beside the signed answer is accepted")
    }
    for (name, value) in named {
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
    try require(!hasState, "the redirect of the flow is unrelated to it")
  case .refused(let message):
    try requireShowable(message, without: [state], "the refusal")
  }
}
