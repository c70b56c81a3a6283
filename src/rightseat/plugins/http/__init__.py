"""Operations of a plugin's API document as tools that really call: requests, credentials, answers."""
