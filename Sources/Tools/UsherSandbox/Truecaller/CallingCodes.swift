/// The countries to which the Truecaller fake sends codes, with their calling codes (ITU-T E.164).
///
/// There is one table for each regional host that stores profiles. `europe` is the vendor's list of
/// 44 country codes, which has the United Kingdom as both `GB` and `UK`.
enum CallingCodes {
  static let europe = [
    "AD": "376", "AT": "43", "AX": "358", "BE": "32", "BG": "359", "CH": "41", "CY": "357",
    "CZ": "420", "DE": "49", "DK": "45", "EE": "372", "ES": "34", "FI": "358", "FO": "298",
    "FR": "33", "GB": "44", "GG": "44", "GI": "350", "GR": "30", "HR": "385", "HU": "36",
    "IE": "353", "IM": "44", "IS": "354", "IT": "39", "JE": "44", "LI": "423", "LT": "370",
    "LU": "352", "LV": "371", "MC": "377", "MT": "356", "NL": "31", "NO": "47", "PL": "48",
    "PT": "351", "RO": "40", "SE": "46", "SI": "386", "SJ": "47", "SK": "421", "SM": "378",
    "UK": "44", "VA": "39",
  ]

  static let elsewhere = [
    "AE": "971", "AR": "54", "AU": "61", "BD": "880", "BR": "55", "CA": "1", "CI": "225",
    "CN": "86", "CO": "57", "EG": "20", "ET": "251", "GH": "233", "ID": "62", "IL": "972",
    "IN": "91", "IQ": "964", "JO": "962", "JP": "81", "KE": "254", "KR": "82", "KW": "965",
    "KZ": "7", "LB": "961", "LK": "94", "MA": "212", "MX": "52", "MY": "60", "NG": "234",
    "NP": "977", "NZ": "64", "OM": "968", "PH": "63", "PK": "92", "QA": "974", "RS": "381",
    "RU": "7", "SA": "966", "SG": "65", "TH": "66", "TN": "216", "TR": "90", "TZ": "255",
    "UA": "380", "UG": "256", "US": "1", "UZ": "998", "VN": "84", "XK": "383", "ZA": "27",
  ]
}
